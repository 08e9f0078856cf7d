package bolt

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

// State is the state of a connection.
type State uint8

// The states.
const (
	Negotiation State = iota
	Authentication
	Ready
	Streaming   // an auto-commit result is open
	TxReady     // a transaction is open
	TxStreaming // with open results
	Failed
	Defunct // no more messages are answered
)

var stateNames = [...]string{"NEGOTIATION", "AUTHENTICATION", "READY", "STREAMING", "TX_READY", "TX_STREAMING", "FAILED", "DEFUNCT"}

// String returns the state's name.
func (s State) String() string { return stateNames[s] }

// Options configure a session.
type Options struct {
	Version Version
	// Listed means that the client chose the version from the manifest.
	Listed bool
	// Server is the server's name and version, ID the connection's id.
	Server, ID string
	// Advertised is the address in the response to LOGON from 5.8 on; "" means none.
	Advertised string
	// Idle bounds how long a transaction or a result waits for its client; 0 is no limit.
	Idle time.Duration
	// MaxBytes bounds the waiting messages; see Session.Arrive.
	MaxBytes int
	// Follow starts another goroutine that passes in messages, in place of the one that answers them itself and has not returned from Arrive
	// for long. It must not block.
	Follow func()
	// Pacer is shared by the sessions of a server; nil: the session has its own.
	Pacer *Pacer
	// Charge returns what counts the memory of a message's values, and may refuse it, and what releases that memory; nil: nothing does.
	Charge func() (add func(bytes int) error, release func())
}

// smallMessage is the length up to which the memory of a message's values is not counted.
const smallMessage = 1 << 10

// mostWaiting bounds the number of waiting messages.
const mostWaiting = 1024

// Session answers the messages of a connection. One goroutine runs Serve, another passes in messages as they arrive. A statement that arrives
// while nothing is open is answered by the goroutine that passes it in, which spares waking the other one; if that takes long, Options.Follow
// starts another goroutine that passes in what comes meanwhile.
type Session struct {
	opt     Options
	version Version
	form    packstream.Form
	backend Backend
	out     out
	paced   paced
	state   State
	scratch metadata // of the last response
	said    byte     // tag of the last response

	base     context.Context // of the connection
	tx       Tx              // or nil
	results  map[int64]*openResult
	auto     *openResult // auto-commit
	live     *openResult // the transaction's result whose rows come from the graph
	qid      int64       // the number of the next result in the transaction
	filter   Filter      // for notifications, of the connection and of the transaction
	txFilter Filter
	ended    error // why the open results ended, not yet reported to the client

	mu      sync.Mutex
	queue   []item
	room    [2]item // the memory of a short queue: RUN and PULL arrive together
	bytes   int     // in queue
	resets  int     // received and not answered yet
	over    error
	ctx     context.Context // of the running request; a RESET cancels it
	cancel  context.CancelCauseFunc
	loose   bool          // the client is authenticated: its messages may be large, and RESET takes effect immediately
	resting bool          // nothing of the client is open
	parked  bool          // Serve waits, and nothing is open
	lent    bool          // an Arrive answers messages in place of Serve
	follows bool          // another goroutine than that Arrive's passes in messages
	ready   chan struct{} // a message has arrived
	space   chan struct{} // signals that a message was taken from the queue
}

// item is a waiting message.
type item struct {
	raw   []byte
	done  func() // releases the message's memory; may be nil
	jumps bool   // a RESET that cancelled the messages before it
	fault error  // why it is not a message
	more  bool   // another one follows at once
}

// openResult is a result that may have rows left.
type openResult struct {
	res    Result
	qid    int64
	began  time.Time
	batch  *graph.Batch // the current batch
	at     int          // its next row
	filter Filter
	done   func() // releases the memory of its RUN, which holds its parameters; may be nil
	// replaced means that the client got maps in place of vectors.
	replaced bool
}

func (r *openResult) close() {
	r.res.Close()
	if r.done != nil {
		r.done()
	}
}

// NewSession returns the session of a connection that writes responses to w. Each call of w.Write is one piece of the connection.
func NewSession(ctx context.Context, w io.Writer, b Backend, opt Options) *Session {
	s := &Session{
		opt: opt, version: opt.Version, form: opt.Version.form(), backend: b, base: ctx, results: map[int64]*openResult{},
		ready: make(chan struct{}, 1), space: make(chan struct{}, 1),
	}
	s.out.w, s.queue = w, s.room[:0]
	if s.opt.Pacer == nil {
		s.opt.Pacer = &Pacer{}
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// interrupted is the error of requests that a RESET cancels.
var interrupted = graph.TransactionTerminated("the transaction has been terminated: the client has reset the connection")

// goodbyeTime is how long a running request may continue after GOODBYE.
const goodbyeTime = 50 * time.Millisecond

// free releases the memory of the message.
func (it *item) free() {
	if it.done != nil {
		it.done()
	}
}

// Arrive queues a message. It waits while the queue is full, and returns false once the session is over, or another goroutine passes in
// messages. A RESET cancels the running request, and messages queued before it are ignored. done, which may be nil, is called once the
// message is no longer needed. With more, the caller passes another message at once: both are answered by one write.
func (s *Session) Arrive(raw []byte, done func(), more bool) bool {
	it := item{raw: raw, done: done, more: more}
	lent, ok := s.arrive(it)
	switch {
	case !ok:
		it.free()
		return false
	case lent:
		return s.answerHere()
	}
	return true
}

// Fault ends the session, after the responses to earlier messages, with a response that says why the next message cannot be accepted.
func (s *Session) Fault(err error) { s.arrive(item{fault: err}) }

// arrive queues an item. lent means that the caller has to answer the queue.
func (s *Session) arrive(it item) (lent, ok bool) {
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
	for {
		if s.over != nil {
			s.mu.Unlock()
			return false, false
		}
		if len(s.queue) < mostWaiting && (len(s.queue) == 0 || s.bytes+len(raw) <= s.opt.MaxBytes) {
			s.queue = append(s.queue, it)
			s.bytes += len(raw)
			wake := !it.more && !s.lent // else, the next one does, or the answering Arrive sees it
			if wake && s.parked && s.opt.Follow != nil && peek(s.queue[0].raw) == Run {
				wake, lent, s.lent = false, true, true
			}
			s.mu.Unlock()
			if wake {
				signal(s.ready)
			}
			return lent, true
		}
		s.mu.Unlock()
		signal(s.ready) // of those before it
		<-s.space
		s.mu.Lock()
	}
}

// answerHere answers what is queued, in place of Serve, and reports whether the caller still is the one that passes in messages.
func (s *Session) answerHere() (reads bool) {
	given := false
	defer func() {
		if !given { // a panic unwinds
			s.End(io.ErrUnexpectedEOF)
			s.give()
		}
	}()
	for s.state != Defunct {
		it, ok, over := s.take()
		if over != nil {
			break
		}
		if ok {
			s.answer(it)
			continue
		}
		if err := s.out.end(); err != nil {
			s.End(err)
			break
		}
		if s.auto != nil || s.tx != nil {
			break
		}
		s.mu.Lock()
		if len(s.queue) == 0 && s.over == nil {
			given, s.lent, reads, s.follows = true, false, !s.follows, false
			s.mu.Unlock()
			return reads
		}
		s.mu.Unlock()
	}
	given = true
	return s.give()
}

// give lets Serve answer again, and reports whether the caller still is the one that passes in messages.
func (s *Session) give() (reads bool) {
	s.mu.Lock()
	reads = !s.follows
	s.lent, s.follows, s.parked = false, false, false
	s.mu.Unlock()
	signal(s.ready)
	return reads
}

// slow treats a response that has been due for long. turn is that of the response.
func (s *Session) slow(turn uint64) {
	s.mu.Lock()
	if s.lent && !s.follows && s.out.turn.Load() == turn {
		s.follows = true
		s.opt.Follow()
	}
	s.mu.Unlock()
	s.out.linger(turn)
}

// signal wakes the waiter for c, now or later.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// End ends the session and cancels its requests because of an error, such as a closed connection.
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

// Limited reports whether the client is not authenticated yet, so that its messages must be small.
func (s *Session) Limited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.loose
}

// Resting reports whether the client has no open statement or transaction.
func (s *Session) Resting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resting && len(s.queue) == 0
}

// take returns the next message, if one has arrived.
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
		s.queue = s.room[:0]
	}
	s.bytes -= len(it.raw)
	signal(s.space)
	return it, true, nil
}

// Serve answers messages until the session is over, and then closes its open results and transaction.
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
			s.answer(it)
		}
	}
	_ = s.out.end() // the client may be gone
}

// answer answers a message.
func (s *Session) answer(it item) {
	if s.out.begin() {
		s.opt.Pacer.watch(s)
	}
	s.handle(it)
}

// park waits for a message, or for what an Arrive leaves that has answered in place of Serve.
func (s *Session) park() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked = len(s.queue) == 0 && s.over == nil
	for s.parked {
		s.mu.Unlock()
		<-s.ready
		s.mu.Lock()
		if !s.lent && (len(s.queue) > 0 || s.over != nil) {
			s.parked = false
		}
	}
}

// rest records that the client is idle: it requests no rows.
func (s *Session) rest() {
	if s.auto != nil {
		s.auto.res.Wait()
	}
	if s.live != nil {
		s.live.res.Wait()
	}
}

// wait waits for a message, within the idle limit of the open transaction.
func (s *Session) wait() {
	var done <-chan struct{}
	switch {
	case s.tx != nil:
		done = s.tx.Done()
	case s.auto != nil:
		done = s.auto.res.Done()
	default:
		s.park()
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
