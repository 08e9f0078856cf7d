package fresh

import (
	"context"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// MaxBytes bounds an answer that requests share.
	MaxBytes = 1 << 20
	// heldBytes bounds the answers that are held for requests that have arrived, beside the cache.
	heldBytes = 32 << 20
	// places is the number of places; see Place.
	places = 1 << 14
)

// Counts count what Answers have done.
type Counts struct {
	Hits, Misses, Evictions atomic.Uint64 // of the cache
	Shared                  atomic.Uint64 // requests that got the answer that another one has computed at that time
	Unmodified              atomic.Uint64 // requests whose client had the answer
	Bytes                   atomic.Int64  // of the cache
}

// Answers shares answers of type A between requests with the same Key: those that run at the same time, and, with a cache, later ones. An answer
// is held as long as alike requests run, and is not changed.
type Answers[A any] struct {
	Counts
	bound  int64 // of the cache, in bytes; 0: there is none
	places [places + 1]place

	mu      sync.Mutex // guards the fields below
	flights map[Key]*Flight[A]
	held    int64 // bytes of the answers of flights
	cache   *lru.LRU[Key, entry[A]]
}

type entry[A any] struct {
	answer *A
	bytes  int64
}

// NewAnswers creates Answers with a cache of some bytes; 0: none.
func NewAnswers[A any](cache int64) *Answers[A] {
	a := &Answers[A]{bound: cache, flights: map[Key]*Flight[A]{}}
	if cache > 0 {
		var err error
		if a.cache, err = lru.NewLRU(1<<20, func(_ Key, e entry[A]) { a.Bytes.Add(-e.bytes) }); err != nil {
			panic(err) // the size is not positive
		}
	}
	return a
}

// Caches reports whether there is a cache.
func (a *Answers[A]) Caches() bool { return a.cache != nil }

// Place is where the requests of one Likeness that run are counted, from 1.
type Place uint32

type place struct {
	n       atomic.Int32
	flights atomic.Int32 // of requests of this place
}

// Enter counts a request in. Leave must follow.
func (a *Answers[A]) Enter(likeness uint64) Place {
	p := Place(1 + likeness%places)
	a.places[p].n.Add(1)
	return p
}

// Crowded reports whether other requests run that are likely to be identical.
func (a *Answers[A]) Crowded(p Place) bool { return a.places[p].n.Load() > 1 }

// Leave counts a request out, if it is in. With the last one, the answers that are held for its like go.
func (a *Answers[A]) Leave(at *Place) {
	p := &a.places[*at]
	if *at == 0 {
		return
	}
	*at = 0
	if p.n.Add(-1) > 0 || p.flights.Load() == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.n.Load() > 0 {
		return
	}
	for key, f := range a.flights {
		if f.place == p {
			a.drop(key, f)
		}
	}
}

// drop removes a flight. The caller holds the lock.
func (a *Answers[A]) drop(key Key, f *Flight[A]) {
	if a.flights[key] == f {
		delete(a.flights, key)
		f.place.flights.Add(-1)
		a.held -= f.bytes
	}
}

// Flight is the computation of an answer by one request.
type Flight[A any] struct {
	of    *Answers[A]
	key   Key
	place *place
	done  chan struct{} // closed when it has ended

	// Set before done is closed.
	answer *A // or nil: it has failed, or is too large
	large  bool
	bytes  int64
}

// Join returns the answer for a key: from the cache, or from a request that computes it, for which Join waits within ctx. Without one, the
// caller computes the answer: with a flight, it ends that by Done, Large or Fail. An
// answer that is too large comes with neither.
func (a *Answers[A]) Join(ctx context.Context, key Key, at Place) (answer *A, f *Flight[A], err error) {
	p, missed := &a.places[at], false
	for {
		a.mu.Lock()
		if a.cache != nil {
			if e, ok := a.cache.Get(key); ok {
				a.mu.Unlock()
				a.Hits.Add(1)
				return e.answer, nil, nil
			}
			if !missed {
				missed = true
				a.Misses.Add(1)
			}
		}
		f = a.flights[key]
		if f == nil {
			f = &Flight[A]{of: a, key: key, place: p, done: make(chan struct{})}
			a.flights[key] = f
			p.flights.Add(1)
			a.mu.Unlock()
			return nil, f, nil
		}
		a.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		switch {
		case f.large:
			return nil, nil, nil
		case f.answer != nil:
			a.Shared.Add(1)
			return f.answer, nil, nil
		}
	}
}

// Done ends a flight with its answer.
func (f *Flight[A]) Done(answer *A, bytes int64) {
	a := f.of
	a.mu.Lock()
	defer a.mu.Unlock()
	bytes += answerBytes
	f.answer, f.bytes = answer, bytes
	a.held += bytes
	if f.place.n.Load() <= 1 || a.held > heldBytes {
		a.drop(f.key, f)
	}
	if a.cache != nil && bytes <= a.bound && !a.cache.Contains(f.key) {
		if a.cache.Add(f.key, entry[A]{answer, bytes}) {
			a.Evictions.Add(1)
		}
		a.Bytes.Add(bytes)
		for a.Bytes.Load() > a.bound {
			a.cache.RemoveOldest()
			a.Evictions.Add(1)
		}
	}
	close(f.done)
}

// Large ends a flight whose answer is too large to be shared: the others compute their own.
func (f *Flight[A]) Large() {
	f.large = true
	close(f.done)
}

// Fail ends a flight without an answer: another request computes it.
func (f *Flight[A]) Fail() {
	f.of.mu.Lock()
	f.of.drop(f.key, f)
	f.of.mu.Unlock()
	close(f.done)
}
