package changes

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// Where a stream can begin beside a token.
const (
	// Earliest is the first position of the log.
	Earliest = "earliest"
	// Current is the position after the last commit.
	Current = "current"
	// Snapshot is the whole graph, and then the changes that follow.
	Snapshot = "snapshot"
)

// chunkBytes is how much of the log a stream reads at once. A commit that is larger comes alone.
const chunkBytes = 1 << 20

// Request is what a stream is to have.
type Request struct {
	// Graph is the graph's name, by which the caller's rights are checked.
	Graph string
	// Database is the name that events give; "": Graph.
	Database string
	// From is a token, Earliest, Current or Snapshot; "" is Current.
	From      string
	Selectors Selectors
	// Bounded ends the stream at the commit that is the log's last one when it is opened.
	Bounded bool
	// Memory counts what large commits take; nil: nobody does.
	Memory Memory
}

// Memory counts the bytes that a reader holds. Grow fails if there is no room for so many more.
type Memory interface {
	Grow(bytes int) error
	Release()
}

// Stream reads the changes of a graph. Only one goroutine at a time may use it. Close it.
type Stream struct {
	g         shard.Graph
	log       shard.ChangeLog
	name      string
	database  string
	selectors Selectors
	signer    *token.Signer
	names     *names
	until     uint64 // the last commit to read, if bounded
	bounded   bool

	after token.Token // what has been read of the log
	chunk []byte
	rest  []byte // of the chunk: commits that have not been read
	copy  *copying

	commit  changelog.Commit // the one at hand
	merger  changelog.Merger
	changes []changelog.Change // of the commit at hand
	order   []uint64           // of their events: transaction, rank and number of a change
	picked  []pick             // the events that a selector takes
	now     token.Token        // after the commit
	events  []Event
	slab    []transaction // memory for the next ones
	clock   clock
	memory  Memory
	held    int // bytes of it
}

// pick is an event of the commit at hand.
type pick struct {
	change int
	tx     *transaction
	txID   int64
	seq    int64
	event  uint64 // its number in the commit, from 1; 0 for the last one
}

// Open begins a stream of a graph. The errors of a token have the details of this package. A
// caller whom rules of the graph restrict is refused, since the log has what they hide.
func Open(ctx context.Context, g shard.Graph, req Request) (*Stream, error) {
	s, st, err := open(ctx, g, req)
	if err != nil {
		return nil, err
	}
	switch req.From {
	case Earliest:
		s.after = token.Token{Commit: st.First, Time: st.FirstTime}
	case Current, "":
		s.after = token.Token{Commit: st.Last, Time: st.LastTime}
	case Snapshot:
		err = s.beginCopy(ctx)
	default:
		err = s.continueFrom(ctx, req.From, st)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Position returns the token of Earliest or Current, which is From.
func Position(ctx context.Context, g shard.Graph, req Request) (string, error) {
	s, err := Open(ctx, g, req)
	if err != nil {
		return "", err
	}
	defer s.Close()
	return s.Token(), nil
}

func open(ctx context.Context, g shard.Graph, req Request) (*Stream, shard.LogState, error) {
	s := &Stream{
		g: restricted.Whole(g), name: req.Graph, database: cmp.Or(req.Database, req.Graph), selectors: req.Selectors, bounded: req.Bounded, memory: req.Memory,
	}
	if err := s.allowed(ctx); err != nil {
		return nil, shard.LogState{}, err
	}
	if s.log = s.g.ChangeLog(); s.log == nil {
		return nil, shard.LogState{}, shard.LogOff(s.database)
	}
	st, err := s.log.LogState(ctx)
	if err == nil && st.Mode == changelog.Off {
		err = shard.LogOff(s.database)
	}
	if err != nil {
		return nil, st, err
	}
	s.signer, s.names, s.until = token.NewSigner(st.Key), newNames(s.g), st.Last
	return s, st, nil
}

// allowed checks that the caller may read all of the graph, still.
func (s *Stream) allowed(ctx context.Context) error {
	if err := access.Check(ctx, s.name, access.Reader); err != nil {
		return err
	}
	if restricted.Roles(restricted.For(ctx, s.g)) != nil {
		return graph.Forbidden(graph.PhaseRuntime, "Rules", "the changes of the graph need a caller whom no rule of the graph restricts")
	}
	return nil
}

// continueFrom continues from a token.
func (s *Stream) continueFrom(ctx context.Context, text string, st shard.LogState) error {
	t, err := s.signer.Parse(text, time.Now())
	if err != nil {
		return TokenError(err)
	}
	if t.Copy { // its transaction has ended
		return s.beginCopy(ctx)
	}
	s.after = t
	switch {
	case t.Commit < st.First, t.Commit == st.First && t.Event > 0:
		return errTooOld(t.Commit, st.First)
	case t.Commit > st.Last:
		return HistoryError(t.Commit)
	case t.Commit == st.First:
		if t.Time != st.FirstTime {
			return HistoryError(t.Commit)
		}
		return nil
	}
	// The commit of the token itself comes first, to be compared.
	s.after.Commit--
	if err := s.read(ctx, 1); err != nil {
		return err
	}
	c, err := s.next()
	if err != nil {
		return err
	}
	if c == nil || c.Number != t.Commit || c.Time != t.Time {
		return HistoryError(t.Commit)
	}
	if t.Event == 0 {
		s.after = t
		return nil
	}
	if err := s.take(ctx, c); err != nil {
		return err
	}
	s.picked = slices.DeleteFunc(s.picked, func(p pick) bool { return p.event != 0 && p.event <= t.Event })
	if len(s.picked) > 0 {
		s.after = t
	}
	return nil
}

// Token is the position after all that Next has returned and what no selector has taken: from there, another stream continues.
func (s *Stream) Token() string { return s.signer.Text(s.position()) }

func (s *Stream) position() token.Token {
	if s.InSnapshot() {
		return s.copy.position
	}
	return s.after
}

// InSnapshot reports whether the stream is still within the snapshot that it began with.
func (s *Stream) InSnapshot() bool { return s.copy != nil && !s.copy.finished }

// Close releases what the stream holds.
func (s *Stream) Close() {
	if s.copy != nil {
		s.copy.tx.Rollback()
		s.copy = nil
	}
	_ = s.hold(0) // There is room for less.
}

// largeBytes is what a stream holds without asking.
const largeBytes = 2 * chunkBytes

// hold has the stream hold so many bytes.
func (s *Stream) hold(bytes int) error {
	if s.memory == nil {
		return nil
	}
	if bytes <= largeBytes {
		bytes = 0
	}
	if bytes < s.held {
		s.memory.Release()
		s.held = 0
	}
	if bytes == s.held {
		return nil
	}
	if err := s.memory.Grow(bytes - s.held); err != nil {
		s.memory.Release()
		s.held = 0
		return err
	}
	s.held = bytes
	return nil
}

// size is what the stream holds, in bytes.
func (s *Stream) size() int {
	n := cap(s.chunk)
	if len(s.changes) <= keptChanges {
		return n
	}
	for i := range s.changes {
		c := &s.changes[i]
		n += (len(c.Before.Props) + len(c.After.Props)) * int(unsafe.Sizeof(graph.Property{}))
	}
	return n + len(s.changes)*int(unsafe.Sizeof(changelog.Change{})+unsafe.Sizeof(pick{})+8)
}

// Next returns the next events, at most max of them (0: 1,000), which are valid until it is called again. It returns none if there is none
// after waiting for about as long as wait; a bounded stream is then at its end. After an error of the context, it may be called again. Token
// then has moved on, if there were events that no selector takes.
func (s *Stream) Next(ctx context.Context, wait time.Duration, max int) ([]Event, error) {
	if max <= 0 {
		max = 1000
	}
	if err := s.allowed(ctx); err != nil {
		return nil, err
	}
	late := time.Now().Add(wait)
	s.events = s.events[:0]
	s.names.refresh()
	if s.copy != nil {
		if done, err := s.nextOfCopy(ctx, max); err != nil || !done {
			return s.events, err
		}
	}
	for chunks := 0; len(s.events) < max; {
		if len(s.picked) > 0 {
			s.emit(max - len(s.events))
			continue
		}
		s.release()
		from := s.rest
		c, err := s.next()
		if err == nil && c != nil {
			err = s.take(ctx, c)
		}
		if err != nil {
			if s.rest = from; len(s.events) > 0 {
				break // those before the fault come first
			}
			return nil, err
		}
		if c != nil {
			continue
		}
		if len(s.events) > 0 || s.bounded && s.after.Commit >= s.until {
			break // the chunk is the memory of the events
		}
		if chunks > 0 && wait > 0 && !s.bounded && time.Now().After(late) {
			break // there is much that no selector takes
		}
		if err := s.read(ctx, chunkBytes); err != nil {
			return nil, err
		}
		chunks++
		if len(s.rest) > 0 {
			continue
		}
		left := time.Until(late)
		if left <= 0 {
			break
		}
		if err := s.await(ctx, left); err != nil {
			return nil, err
		}
	}
	return s.events, nil
}

// keptChanges is how many changes of a commit a stream keeps the memory for.
const keptChanges = 1 << 13

// release lets go of the memory of a large commit, of which nothing is left to read.
func (s *Stream) release() {
	if len(s.changes) > keptChanges {
		s.merger, s.changes, s.order, s.picked = changelog.Merger{}, nil, nil, nil
	}
	if len(s.rest) == 0 && cap(s.chunk) > 2*chunkBytes {
		s.chunk = nil
	}
	if s.held > 0 {
		_ = s.hold(s.size()) // There is room for less.
	}
}

// await waits for commits, not longer than some time.
func (s *Stream) await(ctx context.Context, most time.Duration) error {
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := s.log.AwaitLog(within, s.after.Commit)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return nil
	}
	return err
}

// read reads a chunk of the log.
func (s *Stream) read(ctx context.Context, most int) error {
	b, err := s.log.ReadLog(ctx, s.after.Commit, most, s.chunk[:0])
	if err != nil {
		if e := (*graph.Error)(nil); errors.As(err, &e) && e.Kind == graph.KindNotFound {
			return s.lost(ctx, err)
		}
		return err
	}
	s.chunk, s.rest = b, b
	return s.hold(s.size())
}

// lost says why the log does not have what follows a position.
func (s *Stream) lost(ctx context.Context, err error) error {
	st, stateErr := s.log.LogState(ctx)
	switch {
	case stateErr != nil:
		return stateErr
	case s.after.Commit < st.First:
		return errTooOld(s.after.Commit, st.First)
	case s.after.Commit > st.Last:
		return HistoryError(s.after.Commit)
	}
	return err
}

// next returns the next commit of the chunk; nil if there is none, or none that the stream is to have.
func (s *Stream) next() (*changelog.Commit, error) {
	if len(s.rest) == 0 || s.bounded && s.after.Commit >= s.until {
		return nil, nil
	}
	rest, err := s.commit.Read(s.rest)
	if err != nil {
		return nil, graph.CorruptError("read the commit log", err)
	}
	s.rest = rest
	return &s.commit, nil
}

// take makes the events of a commit.
func (s *Stream) take(ctx context.Context, c *changelog.Commit) error {
	err := c.Each(func(ch *changelog.Change) error { s.merger.Add(ch); return nil })
	s.changes = s.merger.Take()
	if err != nil {
		return graph.CorruptError("read the commit log", err)
	}
	if err := s.hold(s.size()); err != nil {
		return err
	}
	if err := s.learn(ctx); err != nil {
		return err
	}
	s.after = token.Token{Commit: c.Number, Time: c.Time}
	s.now = s.after
	s.order = s.order[:0]
	for i := range s.changes {
		ch := &s.changes[i]
		s.order = append(s.order, uint64(ch.Tx)<<40|uint64(rank(ch))<<32|uint64(i))
	}
	if !slices.IsSorted(s.order) {
		slices.Sort(s.order)
	}
	var tx *transaction
	var id, seq int64
	last := -1
	s.picked = s.picked[:0]
	for n, key := range s.order {
		i := int(key & math.MaxUint32)
		ch := &s.changes[i]
		if ch.Tx != last {
			tx, id, seq, last = s.transaction(c, ch.Tx), txID(c.Number, ch.Tx), 0, ch.Tx
		}
		tx.full = tx.full || ch.Full
		if len(s.selectors.all) == 0 || s.selectors.take(&Event{Op: opOf(ch), Change: *ch, tx: tx}) {
			p := pick{change: i, tx: tx, txID: id, seq: seq, event: uint64(n) + 1}
			if n == len(s.order)-1 {
				p.event = 0
			}
			s.picked = append(s.picked, p)
		}
		seq++
	}
	return nil
}

// txID numbers a transaction of a commit; a commit has fewer than 256.
func txID(commit uint64, tx int) int64 { return int64(commit)<<8 | int64(tx) }

// LastTx returns the TxID of the first transaction of the last commit of a log: the events of that commit are not below it.
func LastTx(st *shard.LogState) int64 { return txID(st.Last, 0) }

func (s *Stream) transaction(c *changelog.Commit, tx int) *transaction {
	if len(s.slab) == 0 {
		s.slab = make([]transaction, 64)
	}
	t := &s.slab[0]
	s.slab = s.slab[1:]
	*t = transaction{s: s, started: c.Time, commit: c.Time}
	if tx < len(c.Origins) {
		t.origin = c.Origins[tx]
		if t.origin.Started != 0 {
			t.started = t.origin.Started
		}
	}
	return t
}

// rank is the place of a change among those of its transaction, so that they can be applied one by one.
func rank(c *changelog.Change) int {
	switch {
	case c.Op == changelog.Skipped:
		return 4
	case c.Op == changelog.Deleted && c.IsEdge:
		return 0
	case c.Op == changelog.Deleted:
		return 1
	case !c.IsEdge:
		return 2
	}
	return 3
}

func opOf(c *changelog.Change) Op {
	return [...]Op{changelog.Skipped: Gap, changelog.Created: Create, changelog.Changed: Update, changelog.Deleted: Delete}[c.Op]
}

// learn makes sure that the catalog has the names of the commit at hand: that of a gateway follows the leader's with the next transaction.
func (s *Stream) learn(ctx context.Context) error {
	if s.names.know(s.changes) {
		return nil
	}
	tx, err := s.g.Begin(ctx, shard.Read)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if v := tx.Features().Validator; v != nil {
		err = v.Check(ctx)
	}
	if err == nil && !s.names.know(s.changes) {
		err = graph.InternalError("read the commit log", errors.New("a change has a name that the catalog lacks"))
	}
	return err
}

// emit moves events of the commit at hand, at most n, to those that Next returns.
func (s *Stream) emit(n int) {
	n = min(n, len(s.picked))
	for i, p := range s.picked[:n] {
		at := s.now
		at.Event = p.event
		s.events = append(s.events, Event{
			TxID: p.txID, Seq: p.seq, Op: opOf(&s.changes[p.change]), Change: s.changes[p.change], tx: p.tx, at: at,
			Last: i+1 == len(s.picked) || s.picked[i+1].tx != p.tx,
		})
		s.after.Event = p.event
	}
	if s.picked = s.picked[n:]; len(s.picked) == 0 {
		s.after.Event = 0
	}
}
