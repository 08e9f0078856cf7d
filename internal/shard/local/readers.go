package local

import (
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/storage"
)

// readers counts the transactions that read a graph, or a part of one, and has what they share.
type readers struct {
	name     string // of the graph
	opts     *Options
	topology *topology // the topology cache, which learns of every commit before a snapshot shows it

	mu      sync.Mutex
	open    int // transactions
	closing bool
	idle    chan struct{} // closed when closing and the last transaction has ended

	graphs sync.WaitGroup // goroutines that build HNSW graphs

	emptying atomic.Bool // written with mu: nothing begins any more once the last transaction has ended
}

// enter counts a transaction in, unless the graph is closing; leave counts it out.
func (r *readers) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return closed()
	}
	r.open++
	return nil
}

func (r *readers) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left()
}

// left is leave while mu is held.
func (r *readers) left() {
	if r.open--; r.open == 0 && (r.closing || r.emptying.Load()) {
		r.shut()
	}
}

// shut lets nothing begin any more. The caller holds mu.
func (r *readers) shut() {
	r.closing = true
	if r.open == 0 {
		close(r.idle)
	}
}

// ending reports whether the graph waits for its transactions to end.
func (r *readers) ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing || r.emptying.Load()
}

// Get is storage.Part.Get, during which the part stays open.
func (p *Part) Get(epoch uint64, store storage.Store, version, least uint64, key []byte) (value []byte, ok bool, err error) {
	if err := p.enter(); err != nil {
		return nil, false, err
	}
	defer p.leave()
	return p.Part.Get(epoch, store, version, least, key)
}

// GetAll is storage.Part.GetAll, during which the part stays open.
func (p *Part) GetAll(epoch uint64, store storage.Store, version, least uint64, keys [][]byte) ([][]byte, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	return p.Part.GetAll(epoch, store, version, least, keys)
}

// Walk is storage.Part.Walk, during which the part stays open.
func (p *Part) Walk(epoch, least uint64, w *storage.Walk) (*storage.Records, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	return p.Part.Walk(epoch, least, w)
}
