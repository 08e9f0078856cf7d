package view

import (
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// Facts are what views know of their shard.
type Facts struct {
	No            int
	Graph, Values kv.Store
	Logger        *slog.Logger
	Closing       <-chan struct{} // closed when the shard begins to close
}

// State is what a view remembers of the numbers that its shard has in memory.
type State struct {
	Version   uint64 // of what can be read
	NextValue uint64 // number of the next large value
	NextText  uint64 // number of the next change for a full-text index
	Sketches  map[graph.IndexID]*stats.Sketch
}

// Set is the open views of a shard. Its methods may run side by side.
type Set struct {
	Facts
	// epoch counts the calls of ReleaseReaders.
	epoch atomic.Uint64
	// closers end the snapshots of closed views.
	closers sync.WaitGroup
	mu      sync.Mutex
	retired []*View
	open    map[*View]struct{} // without those of writers
}

// NewSet makes the set of a shard, without views.
func NewSet(f Facts) *Set { return &Set{Facts: f, open: map[*View]struct{}{}} }

// Open returns a view of the shard as it is. The caller ensures that no commit is half applied.
func (s *Set) Open(st State) (*View, error) {
	g, err := s.Graph.Snapshot()
	if err != nil {
		return nil, err
	}
	values, err := s.Values.Snapshot()
	if err != nil {
		return nil, errors.Join(err, s.Graph.Guard(g.Close))
	}
	v := &View{set: s, graph: g, values: values, state: st}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[v] = struct{}{}
	return v, nil
}

// Init makes v, which is new, the view of a writer over stored records, which it does not close.
func (s *Set) Init(v *View, graph, values pebble.Reader, over *Overlay, st State) {
	v.set, v.graph, v.values, v.over, v.state = s, graph, values, over, st
}

// ReleaseReaders ends the idle readers of all views now, and the others when their requests end: their iterators hold tables that a
// compaction has replaced.
func (s *Set) ReleaseReaders() {
	s.epoch.Add(1)
	s.mu.Lock()
	views := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, v := range views {
		v.mu.Lock()
		v.releaseFree()
		v.mu.Unlock()
	}
}

// OldestText returns the least NextText of the open views.
func (s *Set) OldestText() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := uint64(math.MaxUint64)
	for v := range s.open {
		least = min(least, v.state.NextText)
	}
	return least
}

// retirePause is how long the snapshots of a closed view wait for others, to be closed together.
const retirePause = 5 * time.Millisecond

// retire closes a view's snapshots soon, but not at once: closing one may have to wait for the manifest, and closing the
// oldest makes Pebble look for compactions.
func (s *Set) retire(v *View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, v)
	if s.retired = append(s.retired, v); len(s.retired) == 1 {
		s.closers.Go(func() {
			select {
			case <-time.After(retirePause):
			case <-s.Closing:
			}
			s.CloseRetired()
		})
	}
}

// CloseRetired closes the snapshots of the closed views now.
func (s *Set) CloseRetired() {
	s.mu.Lock()
	views := s.retired
	s.retired = nil
	s.mu.Unlock()
	if len(views) == 0 {
		return
	}
	slices.Reverse(views) // so that only one of them is the oldest when it is closed
	err := s.Graph.Guard(func() (err error) {
		for _, v := range views {
			err = errors.Join(err, v.graph.Close())
		}
		return err
	})
	for _, v := range views {
		err = errors.Join(err, v.values.Close())
	}
	if err != nil && s.Graph.Writable() == nil && s.Values.Writable() == nil {
		s.Logger.Error("close a snapshot", slog.String("store", s.Graph.Label()), slog.Any("error", err))
	}
}

// Wait waits until the snapshots of all closed views are closed. Closing must be closed before.
func (s *Set) Wait() { s.closers.Wait() }
