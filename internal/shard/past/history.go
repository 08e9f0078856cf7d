package past

import (
	"context"
	"math"
	"sync"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/shard"
)

// History has the moments of a graph that were read last. It is safe for concurrent use.
type History struct {
	names graph.Catalog
	log   shard.ChangeLog
	// features are those of transactions of present, for which they were made.
	present, features *shard.FeatureSet

	mu      sync.Mutex
	room    int // in bytes
	clock   uint64
	moments map[uint64]*moment
	pool    *memory.Pool // of which the moments take their bytes; nil: none
	taken   int          // of the pool
	ended   bool         // the graph is gone: nothing is kept
}

// DefaultBytes is a usual limit of a History.
const DefaultBytes = 256 << 20

// New returns the history of a graph. What it keeps of all moments takes about as many bytes at most.
func New(g shard.Graph, bytes int) *History {
	set := FeaturesOf(g.Features())
	return &History{names: g, log: g.ChangeLog(), present: g.Features(), features: set, room: bytes, moments: map[uint64]*moment{}}
}

// Share has the moments take their memory from a pool, so that they have no more than it has left. It is called before any is read.
func (h *History) Share(pool *memory.Pool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pool = pool
}

// Forget forgets moments that nobody reads, those that were read longest ago first, until they have freed some bytes. It returns how many.
func (h *History) Forget(bytes int) (freed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for before := h.sum(); freed < bytes && h.forgetLast(); {
		freed = before - h.sum()
	}
	h.take(h.sum())
	return freed
}

// end forgets all moments, those that are read once they no longer are.
func (h *History) end() {
	h.Forget(math.MaxInt)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
}

// take has the history take some bytes of the pool in all; false if the pool does not have them. The caller holds the lock.
func (h *History) take(bytes int) bool {
	more := int64(bytes - h.taken)
	switch {
	case h.pool == nil:
		return true
	case more > 0 && !h.pool.Take(more):
		return false
	case more < 0:
		h.pool.Give(-more)
	}
	h.taken = bytes
	return true
}

// readBytes is about how much of the log is read at a time.
const readBytes = 1 << 20

// At returns a transaction that reads the graph as of a commit, by one that reads it as of that commit or a later one, and whose end becomes
// that of both. Time is that of the commit, 0 if it is not known. After an error, tx is as it was.
//
// A commit that the log does not reach back to is an error of ChangeLog.ReadLog. Others are ChangeLogGap, if a load was kept out of the log,
// and PastTooLarge, if what has changed takes more memory than the history has.
func (h *History) At(ctx context.Context, tx shard.Tx, commit uint64, time int64) (shard.Tx, error) {
	f := tx.Features()
	if f.Commits == nil || h.log == nil {
		return nil, graph.InternalError("the past of a graph without a commit log", nil)
	}
	present, _ := f.Commits.Position()
	if commit > present {
		return nil, shard.NoLogPosition(commit, 0, present)
	}
	m := h.enter(commit)
	if err := h.extend(ctx, m, present); err != nil {
		h.leave(m)
		return nil, err
	}
	return h.begin(tx, m, present, time), nil
}

// Features are those of the transactions.
func (h *History) Features() *shard.FeatureSet { return h.features }

// Bytes is about what the moments take.
func (h *History) Bytes() (bytes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sum()
}

func (h *History) sum() (bytes int) {
	for _, m := range h.moments {
		m.mu.RLock()
		bytes += m.bytes
		m.mu.RUnlock()
	}
	return bytes
}

// enter returns the moment of a commit, for one more transaction.
func (h *History) enter(commit uint64) *moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.moments[commit]
	if m == nil {
		m = newMoment(commit)
		h.moments[commit] = m
	}
	h.clock++
	m.users, m.used = m.users+1, h.clock
	return m
}

// leave ends what enter began. A moment without memory is not kept.
func (h *History) leave(m *moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m.users--
	if m.users == 0 && h.moments[m.number] == m && (m.covered == m.number || h.ended) {
		delete(h.moments, m.number)
		h.take(h.sum())
	}
}

// fit forgets moments that nobody reads, the one that was read longest ago first, until the rest has room. It fails if that is not enough.
func (h *History) fit(m *moment) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		sum := h.sum()
		if sum <= h.room && h.take(sum) {
			return nil
		}
		if !h.forgetLast() {
			delete(h.moments, m.number)
			h.take(h.sum())
			return tooLarge(m.number, sum, h.room)
		}
	}
}

// count counts what a moment has more. It fails if the pool does not have that and moments that nobody reads do not make up for it.
func (h *History) count(m *moment, bytes int) error {
	m.mu.Lock()
	m.bytes += bytes
	m.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	for sum := h.sum(); !h.take(sum); sum = h.sum() {
		if !h.forgetLast() {
			m.mu.Lock()
			m.bytes -= bytes
			m.mu.Unlock()
			return tooLarge(m.number, sum, h.room)
		}
	}
	return nil
}

// keep counts what was derived from a moment, if there is room for it, or if that can be made.
func (h *History) keep(m *moment, bytes int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for sum := h.sum() + bytes; sum > h.room || !h.take(sum); sum = h.sum() + bytes {
		if !h.forgetLast() {
			return false
		}
	}
	m.mu.Lock()
	m.bytes += bytes
	m.mu.Unlock()
	return true
}

// forgetLast forgets the moment that was read longest ago and that nobody reads; false if there is none. The caller holds the lock.
func (h *History) forgetLast() bool {
	var last *moment
	for _, o := range h.moments {
		if o.users == 0 && (last == nil || o.used < last.used) {
			last = o
		}
	}
	if last == nil {
		return false
	}
	delete(h.moments, last.number)
	return true
}

// extend has a moment cover all commits up to one.
func (h *History) extend(ctx context.Context, m *moment, to uint64) error {
	if m.covers(to) {
		return nil
	}
	select {
	case m.extending <- struct{}{}:
	case <-ctx.Done():
		return graph.DeadlineError(ctx.Err())
	}
	defer func() { <-m.extending }()
	var buf []byte
	for !m.covers(to) {
		if err := ctx.Err(); err != nil {
			return graph.DeadlineError(err)
		}
		after := m.covered // which nobody else changes now
		var err error
		if buf, err = h.log.ReadLog(ctx, after, readBytes, buf[:0]); err != nil {
			return err
		}
		if len(buf) == 0 {
			return graph.InternalError("the commit log ends before a snapshot", nil)
		}
		for rest := buf; len(rest) > 0 && !m.covers(to); {
			var c *changelog.Commit
			if c, rest, err = changelog.ReadCommit(rest); err != nil {
				return graph.CorruptError("read the commit log", err)
			}
			if err := h.add(m, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// add has a moment cover one commit more.
func (h *History) add(m *moment, c *changelog.Commit) error {
	if c.Number != m.covered+1 {
		return gap(m.number, m.covered+1)
	}
	for i := range c.Records {
		part := changelog.Commit{Records: c.Records[i : i+1]}
		m.mu.Lock()
		err := part.Each(func(x *changelog.Change) error {
			switch {
			case x.Op != changelog.Skipped:
				m.undo(x, c.Number)
			case x.Counts != [6]uint64{}:
				return gap(m.number, c.Number)
			}
			return nil
		})
		m.mu.Unlock()
		if err != nil {
			if graph.AsError(err).Detail == gapDetail {
				return err
			}
			return graph.CorruptError("read the commit log", err)
		}
		if err := h.fit(m); err != nil {
			return err
		}
	}
	m.mu.Lock()
	m.covered = c.Number
	m.mu.Unlock()
	return nil
}

func (m *moment) covers(commit uint64) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.covered >= commit
}
