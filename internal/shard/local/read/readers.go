package read

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
)

// Readers counts the transactions of a graph, or of a part of one, and has what they share.
type Readers struct {
	Name     string // of the graph
	Options  *storage.Options
	Topology *Topology // learns of every commit before a snapshot shows it
	Again    Again     // of a whole graph: reads the newest snapshot

	mu      sync.Mutex
	open    int // transactions
	closing bool
	idle    chan struct{} // closed when closing and the last transaction has ended

	graphs sync.WaitGroup // goroutines that build HNSW graphs

	emptying atomic.Bool // written with mu: nothing begins once the last transaction has ended
}

// NewReaders returns the readers of a graph, or of a part of one. Topology is set before the first one.
func NewReaders(name string, opts *storage.Options) *Readers {
	return &Readers{Name: name, Options: opts, idle: make(chan struct{})}
}

// Enter counts a transaction in, unless the graph is closing. Leave counts it out.
func (r *Readers) Enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return fail.Closed()
	}
	r.open++
	return nil
}

// Leave counts a transaction out.
func (r *Readers) Leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open--; r.open == 0 && (r.closing || r.emptying.Load()) {
		r.closing = true
		close(r.idle)
	}
}

// Shut lets no transaction begin from now on. Idle tells when the last one has ended.
func (r *Readers) Shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut()
}

func (r *Readers) shut() {
	if r.closing {
		return
	}
	r.closing = true
	if r.open == 0 {
		close(r.idle)
	}
}

// Idle is closed once the last transaction after Shut or Empty has ended.
func (r *Readers) Idle() <-chan struct{} { return r.idle }

// Ending reports whether the graph waits for its transactions to end.
func (r *Readers) Ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing || r.emptying.Load()
}

// Emptying reports whether Empty waits for the transactions to end.
func (r *Readers) Emptying() bool { return r.emptying.Load() }

// Empty waits for the transactions to end, and shuts the graph. If ctx ends before they do, the graph stays open.
func (r *Readers) Empty(ctx context.Context) error {
	r.mu.Lock()
	if r.closing || r.emptying.Load() {
		r.mu.Unlock()
		return fail.Closed()
	}
	r.emptying.Store(true)
	if r.open == 0 {
		r.shut()
	}
	r.mu.Unlock()
	select {
	case <-r.idle:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == 0 {
		return nil
	}
	r.emptying.Store(false)
	return graph.DeadlineError(ctx.Err())
}

// WaitGraphs waits for the goroutines that build HNSW graphs. Tests call it.
func (r *Readers) WaitGraphs() { r.graphs.Wait() }
