package maintain

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage"
)

// Compactor compacts the delta records of a graph: when there are many of them, or after a while without a commit.
type Compactor struct {
	g      Graph
	on     *read.Readers
	shards []*storage.Shard
	stop   <-chan struct{} // closed when the graph is being closed

	count atomic.Int64  // about how many records wait to be compacted
	due   atomic.Int64  // of these, about how many do not wait for writers to rest
	noted atomic.Uint64 // counts what has changed that
	kick  chan struct{}
	mu    sync.Mutex // held by a step
	done  chan struct{}
}

// NewCompactor returns the compactor of a graph.
func NewCompactor(g Graph, on *read.Readers, shards []*storage.Shard, stop <-chan struct{}) *Compactor {
	return &Compactor{g: g, on: on, shards: shards, stop: stop, kick: make(chan struct{}, 1), done: make(chan struct{})}
}

// Note counts how much there is to do. The caller holds the writer's lock.
func (c *Compactor) Note() {
	n, due := int64(0), int64(0)
	for _, s := range c.shards {
		all, now := s.DeltaCount()
		n, due = n+int64(all), due+int64(now)
	}
	c.noted.Add(1)
	old, oldDue, many := c.count.Swap(n), c.due.Swap(due), c.many()
	if n > 0 && old == 0 || due >= many && oldDue < many {
		select {
		case c.kick <- struct{}{}:
		default:
		}
	}
}

// many is from how many delta records on they are compacted although writers do not rest.
func (c *Compactor) many() int64 { return int64(c.on.Options.Tuning.CompactRecords) }

// Pending is about how many records wait to be compacted.
func (c *Compactor) Pending() int64 { return c.count.Load() }

// Wait returns once Run has ended.
func (c *Compactor) Wait() { <-c.done }

// pause is how long to wait after a compaction that failed.
const pause = 5 * time.Second

// Run compacts until the graph closes.
func (c *Compactor) Run() {
	defer close(c.done)
	if c.many() < 0 {
		return
	}
	ctx, cancel := until(c.stop)
	defer cancel()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var took time.Duration // by the last step
	for {
		select {
		case <-c.stop:
			return
		case <-c.kick:
		}
		for c.count.Load() > 0 {
			if c.due.Load() < c.many() {
				noted := c.noted.Load()
				// At most half the time of one core goes into this.
				timer.Reset(max(c.on.Options.Tuning.CompactIdle, took))
				select {
				case <-c.stop:
					return
				case <-c.kick:
					continue
				case <-timer.C:
				}
				if c.noted.Load() != noted || c.g.Locked() {
					continue
				}
			}
			began := time.Now()
			_, err := c.Step(ctx)
			took = time.Since(began)
			if err != nil {
				select {
				case <-c.stop:
					return
				default:
				}
				c.on.Options.Logger.Error("compact", slog.String("graph", c.on.Name), slog.Any("error", err))
				timer.Reset(pause)
				select {
				case <-c.stop:
					return
				case <-timer.C:
				}
			}
		}
	}
}

// mostDeltas is how many times the delta records from which on they are compacted there may be before writers wait for it.
const mostDeltas = 16

// Step compacts a little in each shard and reports whether there was work. Chunks with groups, or many other delta edges, are compacted
// beside writers, unless these touch the same lists all the time or are faster; for the rest they wait.
func (c *Compactor) Step(ctx context.Context) (some bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	beside := c.due.Load() < mostDeltas*c.many()
	if beside {
		if some, beside, err = c.chunks(ctx); err != nil {
			return some, err
		}
	}
	if err := c.g.Lock(ctx); err != nil {
		return some, err
	}
	for _, s := range c.shards {
		n, ferr := s.CompactDeltas(ctx, c.on.Options.Tuning.CompactStep, !beside)
		err = errors.Join(err, ferr)
		some = some || n > 0
	}
	return some, c.End(some, err)
}

// End ends a step that holds the writer's lock.
func (c *Compactor) End(some bool, err error) error {
	if !some || err != nil {
		c.Note()
		c.g.Unlock()
		return err
	}
	publish, err := c.g.Enqueue()
	c.Note()
	c.g.Unlock()
	if err != nil {
		return err
	}
	return publish()
}

// chunks compacts chunks of each shard beside writers; useful reports whether all of it was applied.
func (c *Compactor) chunks(ctx context.Context) (some, useful bool, err error) {
	if err := c.g.Lock(ctx); err != nil {
		return false, false, err
	}
	var xs []*storage.Compaction
	for _, s := range c.shards {
		x, ferr := s.BeginCompaction()
		if ferr != nil {
			err = ferr
			break
		}
		xs = append(xs, x)
	}
	c.g.Unlock()
	for _, x := range xs {
		if err == nil {
			err = x.Run(ctx, c.on.Options.Tuning.CompactStep)
		}
	}
	c.g.Relock() // so that what has begun ends, even if ctx has
	useful = true
	for _, x := range xs {
		if err != nil {
			err = errors.Join(err, x.Discard())
			continue
		}
		n, used, ferr := x.End()
		some, useful, err = some || n > 0, useful && used, ferr
	}
	return some, useful, c.End(some, err)
}
