package bolt

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

// State is what a connection is ready for.
type State uint8

// The states.
const (
	Negotiation State = iota
	Authentication
	Ready
	Streaming   // a result outside a transaction is open
	TxReady     // a transaction is open
	TxStreaming // with open results
	Failed
	Defunct // nothing more is answered
)

var stateNames = [...]string{"NEGOTIATION", "AUTHENTICATION", "READY", "STREAMING", "TX_READY", "TX_STREAMING", "FAILED", "DEFUNCT"}

// String gives the state's name.
func (s State) String() string { return stateNames[s] }

// Options are a session's settings.
type Options struct {
	Version Version
	// Listed says that the client chose the version from the list of all.
	Listed bool
	// Server is the server's name and version, ID the connection's.
	Server, ID string
	// Advertised is the address that LOGON names from 5.8 on; "" is none.
	Advertised string
	// Idle is how long a transaction, or a result, waits for its client; 0 is without limit.
	Idle time.Duration
	// MaxBytes bounds the messages that wait; see Session.Arrive.
	MaxBytes int
}

// mostWaiting is how many messages may wait.
const mostWaiting = 1024

// Session answers the messages of a connection. One goroutine runs Serve, and another hands it the messages that have come.
type Session struct {
	opt     Options
	version Version
	form    packstream.Form
	backend Backend
	out     out
	state   State
	scratch []byte
	answer  byte // the last one's tag

	base     context.Context // of the connection
	tx       Tx              // or nil
	results  map[int64]*openResult
	auto     *openResult // outside a transaction
	live     *openResult // of the transaction, whose rows come from the graph
	qid      int64       // the next result's number in the transaction
	filter   Filter      // of notifications, of the connection and of the transaction
	txFilter Filter
	ended    error // why what was open is no more, which the client does not know yet

	mu      sync.Mutex
	queue   []item
	bytes   int // in queue
	resets  int // that have come and are not answered yet
	over    error
	ctx     context.Context // of what runs; ends with a RESET that comes
	cancel  context.CancelCauseFunc
	loose   bool          // the client is known: its messages may be large, and a RESET jumps ahead
	resting bool          // nothing of the client's is open
	ready   chan struct{} // something has come
	space   chan struct{} // something has been taken
}

// item is a message that waits.
type item struct {
	raw   []byte
	done  func() // gives the message's memory back; nil: nothing to do
	jumps bool   // a RESET that has ended what was before it
	fault error  // why it is no message
}

// openResult is a result of which rows may be left.
type openResult struct {
	res    Result
	qid    int64
	began  time.Time
	batch  *graph.Batch // at hand
	at     int          // the next row of it
	filter Filter
	done   func() // gives back the memory of its RUN, in which its parameters lie, or nil
}

func (r *openResult) close() {
	r.res.Close()
	if r.done != nil {
		r.done()
	}
}

// NewSession makes the session of a connection, whose answers go to w. Each call of w.Write is one piece of the connection.
func NewSession(ctx context.Context, w io.Writer, b Backend, opt Options) *Session {
	s := &Session{
		opt: opt, version: opt.Version, form: opt.Version.form(), backend: b, base: ctx, results: map[int64]*openResult{},
		ready: make(chan struct{}, 1), space: make(chan struct{}, 1),
	}
	s.out.w = w
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// interrupted ends what a RESET finds running.
var interrupted = graph.TransactionTerminated("the transaction has been terminated: the client has reset the connection")

// goodbyeTime is how long what runs has when the client has said goodbye.
const goodbyeTime = 50 * time.Millisecond

// free gives the memory of the message back.
func (it *item) free() {
	if it.done != nil {
		it.done()
	}
}

// Arrive hands over a message that has come. It waits while too many wait, and reports false when the session is over. A RESET ends
// what runs, and all that waits before it is ignored. done, which may be nil, is called once the message is of no use any more.
func (s *Session) Arrive(raw []byte, done func()) bool {
	it := item{raw: raw, done: done}
	if !s.arrive(it) {
		it.free()
		return false
	}
	return true
}

// Fault ends the session with an answer that says why the next message cannot be taken, after the answers to what came before.
func (s *Session) Fault(err error) { s.arrive(item{fault: err}) }

func (s *Session) arrive(it item) bool {
	raw := it.raw
	s.mu.Lock()
	switch peek(raw) {
	case Reset:
		if s.loose {
			it.jumps = true
			s.resets++
			s.cancel(interrupted)
		}
	case Goodbye:
		cancel := s.cancel
		time.AfterFunc(goodbyeTime, func() { cancel(io.EOF) })
	}
	s.mu.Unlock()
	for {
		s.mu.Lock()
		if s.over != nil {
			s.mu.Unlock()
			return false
		}
		if len(s.queue) < mostWaiting && (len(s.queue) == 0 || s.bytes+len(raw) <= s.opt.MaxBytes) {
			s.queue = append(s.queue, it)
			s.bytes += len(raw)
			s.mu.Unlock()
			signal(s.ready)
			return true
		}
		s.mu.Unlock()
		<-s.space
	}
}

// signal wakes who waits for c, now or later.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// End ends the session, and what it runs, because of an error: that of a connection that is no more.
func (s *Session) End(err error) {
	s.mu.Lock()
	if s.over == nil {
		s.over = err
	}
	for i := range s.queue {
		s.queue[i].free()
	}
	s.queue = nil
	s.cancel(io.EOF)
	s.mu.Unlock()
	signal(s.ready)
	signal(s.space)
}

// Limited reports whether the client is not known yet, so that its messages must be small.
func (s *Session) Limited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.loose
}

// Resting reports whether no statement and no transaction of the client is open.
func (s *Session) Resting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resting && len(s.queue) == 0
}

// take gives the next message, if one has come.
func (s *Session) take() (it item, ok bool, over error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.resting = s.over == nil && s.tx == nil && s.auto == nil
		return it, false, s.over
	}
	s.resting = false
	it = s.queue[0]
	s.queue[0] = item{}
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	s.bytes -= len(it.raw)
	signal(s.space)
	return it, true, nil
}

// Serve answers messages until the session is over, and ends what is open then.
func (s *Session) Serve() {
	defer s.close()
	for s.state != Defunct {
		it, ok, over := s.take()
		switch {
		case over != nil:
			return
		case !ok:
			if s.out.end() != nil {
				return
			}
			s.rest()
			s.wait()
		default:
			s.out.begin()
			s.handle(it)
		}
	}
	_ = s.out.end() // the client may be gone already
}

// rest says that nobody asks for the rows of what is open.
func (s *Session) rest() {
	if s.auto != nil {
		s.auto.res.Wait()
	}
	if s.live != nil {
		s.live.res.Wait()
	}
}

// wait waits for a message, but for no longer than what is open may wait for its client.
func (s *Session) wait() {
	var done <-chan struct{}
	switch {
	case s.tx != nil:
		done = s.tx.Done()
	case s.auto != nil:
		done = s.auto.res.Done()
	default:
		<-s.ready
		return
	}
	var late <-chan time.Time
	if s.opt.Idle > 0 {
		t := time.NewTimer(s.opt.Idle)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-s.ready:
	case <-done:
		s.giveUp(nil)
	case <-late:
		s.giveUp(idle)
	}
}
