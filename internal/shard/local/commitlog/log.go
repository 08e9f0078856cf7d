package commitlog

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/named"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Graph is the graph of a log.
type Graph interface {
	// Newest returns the newest snapshot, and what lets go of it.
	Newest() (*read.Snapshot, func())
	// Lock takes the writer's lock, Unlock returns it.
	Lock(ctx context.Context) error
	Unlock()
	// Definitions returns those of the graph, and Define changes them; see shard.Graph.
	Definitions() *definition.Set
	Define(ctx context.Context, c definition.Change) error
}

// Log is the commit log of a graph. It implements shard.ChangeLog.
type Log struct {
	g      Graph
	on     *read.Readers
	shards []*storage.Shard
	stop   <-chan struct{} // closed when the graph is being closed
	done   chan struct{}   // closed once Run has ended
	nudge  chan struct{}   // there are many bytes more

	// last is the last commit. The writer's lock guards it.
	last     storage.LogPosition
	settings atomic.Pointer[storage.LogSettings]

	ranges  storage.LogRanges
	cutting sync.Mutex // of Cut

	mu    sync.Mutex          // guards the fields below
	first storage.LogPosition // of the commit that precedes the log
	moved chan struct{}       // closed by the next commit; nil if nobody waits for it
	bytes uint64              // of all records so far
	held  bool                // a snapshot holds what is beyond the bounds, so bytes more are no reason to cut
	told  uint64              // the bytes beyond the bounds that the server's log has last told of
}

// The cutter keeps somewhat less than it may, so that it does not cut at each commit.
const (
	cutEvery    = time.Minute
	cutFraction = 16
)

// Open opens the log of a graph whose shards have recovered. If commits are missing, the log restarts after the last one.
func Open(g Graph, on *read.Readers, shards []*storage.Shard, stop <-chan struct{}) (*Log, error) {
	l := &Log{g: g, on: on, shards: shards, stop: stop, done: make(chan struct{}), nudge: make(chan struct{}, 1)}
	logged := uint64(0)
	for _, s := range shards {
		last, err := s.ReadLogPosition(keys.MetaCommit)
		if err != nil {
			return nil, err
		}
		first, err := s.ReadLogPosition(keys.MetaLogFirst)
		if err != nil {
			return nil, err
		}
		n, err := s.LastLogged()
		if err != nil {
			return nil, err
		}
		logged = max(logged, n)
		if last.Number > l.last.Number {
			l.last = last
		}
		if first.Number > l.first.Number {
			l.first = first
		}
	}
	if l.first.Number > l.last.Number {
		l.last = l.first
	}
	l.bytes = l.last.Bytes
	settings, ok, err := shards[0].ReadLogSettings()
	if err != nil {
		return nil, err
	}
	l.settings.Store(&settings)
	if on.Options.ReadOnly {
		return l, nil
	}
	if !ok && on.Options.LogBytes != 0 {
		settings.Mode = changelog.Diff
		if _, err := rand.Read(settings.Key[:]); err != nil {
			return nil, err
		}
		if err := shards[0].SetLogSettings(settings); err != nil {
			return nil, err
		}
		l.settings.Store(&settings)
	}
	missing := l.Mode() != changelog.Off && logged < l.last.Number && l.first.Number < l.last.Number
	if missing || on.Options.LogBytes < 0 && logged > 0 {
		return l, l.cut(l.last)
	}
	return l, l.ranges.Open(shards, l.first.Number)
}

// kept reports whether the server keeps commits.
func (l *Log) kept() bool { return l.on.Options.LogBytes > 0 }

// Mode says how much the log keeps of the next commits.
func (l *Log) Mode() changelog.Mode {
	if !l.kept() {
		return changelog.Off
	}
	return l.settings.Load().Mode
}

// Last is the last commit. The caller holds the writer's lock, or is opening the graph.
func (l *Log) Last() storage.LogPosition { return l.last }

// Next is what the next commit is. The caller holds the writer's lock.
func (l *Log) Next(ids []storage.CommitID, origins []changelog.Origin) *storage.CommitInfo {
	next := l.last
	next.Number++
	next.Time = max(next.Time+1, l.on.Options.Clock().UnixNano())
	return &storage.CommitInfo{LogPosition: next, IDs: ids, Logged: l.Mode() != changelog.Off, Origins: origins, Ranges: &l.ranges}
}

// Ranges are those of the log.
func (l *Log) Ranges() *storage.LogRanges { return &l.ranges }

// Done notes that a commit has been applied. The caller holds the writer's lock.
func (l *Log) Done(c *storage.CommitInfo) {
	l.last = c.LogPosition
	if !c.Logged {
		return
	}
	c.Applied()
	l.mu.Lock()
	l.bytes = c.Bytes
	cut := l.tooMany() && !l.held
	l.mu.Unlock()
	if cut {
		select {
		case l.nudge <- struct{}{}:
		default:
		}
	}
}

// tooMany reports whether the log has more bytes than it may. The caller holds l.mu.
func (l *Log) tooMany() bool { return l.beyond() > 0 }

// beyond is how many bytes more the log has than it would without snapshots. The caller holds l.mu.
func (l *Log) beyond() uint64 {
	have, most := l.bytes-l.first.Bytes, uint64(l.on.Options.LogBytes)
	return max(have, most) - most
}

// Kept returns the bytes of the log, and those that only snapshots hold beyond the bytes that are to be kept.
func (l *Log) Kept() [2]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := [2]uint64{l.bytes - l.first.Bytes}
	if l.held {
		k[1] = l.beyond()
	}
	return k
}

// Published wakes those who wait for a commit.
func (l *Log) Published() {
	l.mu.Lock()
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
	l.mu.Unlock()
}

// cut deletes all commits up to one.
func (l *Log) cut(upTo storage.LogPosition) error {
	l.mu.Lock()
	l.first = upTo
	l.mu.Unlock()
	l.ranges.Cut(upTo.Number)
	return storage.CutLog(l.shards, upTo)
}

// Break numbers a change that no record tells, and begins the log again after it. The caller holds the writer's lock.
func (l *Log) Break() (number uint64, err error) {
	l.last.Number++
	l.last.Time = max(l.last.Time+1, l.on.Options.Clock().UnixNano())
	return l.last.Number, l.cut(l.last)
}

// Run cuts the log until the graph is closed.
func (l *Log) Run() {
	defer close(l.done)
	if !l.kept() {
		return
	}
	tick := time.NewTicker(cutEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		case <-l.nudge:
		}
		if err := l.Cut(); err != nil {
			l.on.Options.Logger.Error("cut the commit log", slog.String("graph", l.on.Name), slog.Any("error", err))
		}
	}
}

// Wait returns once Run has ended.
func (l *Log) Wait() { <-l.done }

// Cut deletes the commits beyond the bytes and the age that are kept, but none that a snapshot needs, and drops the snapshots that have expired.
func (l *Log) Cut() error {
	l.cutting.Lock()
	defer l.cutting.Unlock()
	o := l.on.Options
	if c, ok := named.Expired(l.g.Definitions(), o.Clock()); ok {
		if err := l.g.Define(context.Background(), c); err != nil && graph.AsError(err).Detail != "DefinitionsChanged" {
			return err
		}
	}
	oldest, held := named.Oldest(l.g.Definitions(), o.Clock())
	if !held {
		oldest = math.MaxUint64
	}
	l.mu.Lock()
	first := l.first
	l.mu.Unlock()
	at, held, err := l.outOfBounds(first, oldest)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.held = held
	told := l.beyond()
	if told < 2*l.told || !held {
		told = 0
	}
	if told > 0 || !held {
		l.told = told
	}
	if at.Number > first.Number {
		l.first = at
	}
	l.mu.Unlock()
	if told > 0 {
		o.Logger.Warn("snapshots hold the commit log beyond its bounds", slog.String("graph", l.on.Name), slog.Uint64("commit", oldest), slog.Uint64("bytes", told))
	}
	if at.Number == first.Number {
		return nil
	}
	// Who makes a snapshot looks, once it is there, whether the log still has its commit: either that finds l.first, or this the snapshot.
	if oldest, held := named.Oldest(l.g.Definitions(), o.Clock()); held && oldest < at.Number {
		l.mu.Lock()
		l.first = first
		l.mu.Unlock()
		return nil
	}
	l.ranges.Cut(at.Number)
	return storage.CutLog(l.shards, at)
}

// outOfBounds returns the last commit beyond the bytes and the age that are kept, oldest at most; held says that others are beyond them too. It
// is first if there is none.
func (l *Log) outOfBounds(first storage.LogPosition, oldest uint64) (at storage.LogPosition, held bool, err error) {
	o := l.on.Options
	l.mu.Lock()
	end, keep := l.bytes, uint64(o.LogBytes)
	if l.tooMany() {
		keep -= keep / cutFraction
	}
	l.mu.Unlock()
	cur, err := storage.LiveLog(l.shards, first.Number)
	if err != nil {
		return first, false, err
	}
	at = first
	for o.LogAge > 0 || end-at.Bytes > keep {
		c, err := cur.Next()
		if err == nil && c != nil {
			err = c.Open()
		}
		if err != nil {
			return first, false, errors.Join(err, cur.Close())
		}
		old := c != nil && o.LogAge > 0 && c.Time < o.Clock().Add(-o.LogAge).UnixNano()
		if c == nil || !old && end-at.Bytes <= keep {
			break
		}
		if held = c.Number > oldest; held {
			break
		}
		at.Number, at.Time = c.Number, c.Time
		for _, r := range c.Records {
			at.Bytes += uint64(len(r) + storage.LogKeySize)
		}
	}
	return at, held, cur.Close()
}

// LogState implements shard.ChangeLog.
func (l *Log) LogState(context.Context) (shard.LogState, error) {
	snap, release := l.g.Newest()
	defer release()
	l.mu.Lock()
	defer l.mu.Unlock()
	settings := l.settings.Load()
	return shard.LogState{
		Key: settings.Key, Mode: l.Mode(), First: l.first.Number, FirstTime: l.first.Time,
		Last: max(snap.Seq, l.first.Number), LastTime: max(snap.Time, l.first.Time), FirstBytes: l.first.Bytes, Bytes: l.bytes,
	}, nil
}

// ReadLog implements shard.ChangeLog.
func (l *Log) ReadLog(ctx context.Context, after uint64, most int, dst []byte) ([]byte, error) {
	if l.Mode() == changelog.Off {
		return dst, shard.LogOff(l.on.Name)
	}
	snap, release := l.g.Newest()
	defer release()
	l.mu.Lock()
	first := l.first.Number
	l.mu.Unlock()
	if after < first || after > snap.Seq {
		return dst, shard.NoLogPosition(after, first, snap.Seq)
	}
	cur, err := storage.ReadLog(snap.Views, after, snap.Seq)
	if err != nil {
		return dst, err
	}
	for from := len(dst); len(dst) == from || len(dst)-from < most; {
		c, err := cur.Next()
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && c != nil && c.Number != after+1 {
			err = shard.NoLogPosition(after, c.Number-1, snap.Seq) // it was cut meanwhile
		}
		if err != nil {
			return dst[:from], errors.Join(err, cur.Close())
		}
		if c == nil {
			break
		}
		after = c.Number
		if err := l.expand(ctx, snap, c); err != nil {
			return dst[:from], errors.Join(err, cur.Close())
		}
		dst = c.AppendTo(dst)
	}
	return dst, cur.Close()
}

// AwaitLog implements shard.ChangeLog.
func (l *Log) AwaitLog(ctx context.Context, after uint64) error {
	for {
		l.mu.Lock()
		if l.moved == nil {
			l.moved = make(chan struct{})
		}
		moved := l.moved
		l.mu.Unlock()
		snap, release := l.g.Newest()
		last := snap.Seq
		release()
		if last > after {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return graph.DeadlineError(ctx.Err())
		case <-l.stop:
			return fail.Closed()
		}
	}
}

// SetLogMode implements shard.ChangeLog.
func (l *Log) SetLogMode(ctx context.Context, mode changelog.Mode) error {
	if mode != changelog.Off && !l.kept() {
		return shard.LogOff(l.on.Name)
	}
	if err := l.g.Lock(ctx); err != nil {
		return err
	}
	defer l.g.Unlock()
	old := l.settings.Load()
	if mode == old.Mode {
		return nil
	}
	// No commit comes between, and a log that begins again does so here.
	if old.Mode == changelog.Off || mode == changelog.Off {
		if _, held := named.Oldest(l.g.Definitions(), l.on.Options.Clock()); held && mode == changelog.Off {
			return shard.LogHeld(l.on.Name)
		}
		if err := l.cut(l.last); err != nil {
			return err
		}
	}
	next := *old
	next.Mode = mode
	if err := l.shards[0].SetLogSettings(next); err != nil {
		return err
	}
	l.settings.Store(&next)
	return nil
}
