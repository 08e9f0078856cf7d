package access

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/hopgate/hopgate/internal/graph"
)

// Rates bound the requests and the bytes a second of callers and of graphs. Who has sent nothing for a second may send a
// second's worth at once. A nil Rates bounds nothing.
type Rates struct {
	caller, graph Limits // of those that have none of their own

	mu      sync.Mutex
	buckets map[bucketKey]*bucket
	sweepAt int // buckets, from which on those that are full are dropped
	refused atomic.Uint64
}

// NewRates makes the rates of callers and graphs that have no limits of their own.
func NewRates(caller, graphs Limits) *Rates {
	return &Rates{caller: caller, graph: graphs, buckets: map[bucketKey]*bucket{}, sweepAt: 1024}
}

// bucketKey names a caller or a graph.
type bucketKey struct {
	graph bool
	name  string
}

// bucket is what a caller or a graph has left.
type bucket struct {
	owner           string // as messages call it
	limits          Limits
	requests, bytes *rate.Limiter
}

// get gives the bucket of a caller or a graph, or nil where its limits name no rates.
func (r *Rates) get(key bucketKey, l Limits) *bucket {
	if l.Requests == 0 && l.Bytes == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[key]
	if b != nil && b.limits == l {
		return b
	}
	if len(r.buckets) >= r.sweepAt {
		r.sweep()
	}
	b = &bucket{owner: key.name, limits: l, requests: newLimiter(l.Requests), bytes: newLimiter(l.Bytes)}
	if key.graph {
		b.owner = fmt.Sprintf("the graph %q", key.name)
	}
	r.buckets[key] = b
	return b
}

// sweep drops the buckets that are full, from which nobody has taken lately. r.mu is held.
func (r *Rates) sweep() {
	for key, b := range r.buckets {
		if full(b.requests) && full(b.bytes) {
			delete(r.buckets, key)
		}
	}
	r.sweepAt = 2*len(r.buckets) + 1024
}

func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(int(perSecond), 1))
}

func full(l *rate.Limiter) bool { return l == nil || l.Tokens() >= float64(l.Burst()) }

// Refused is the number of requests that came too soon after others.
func (r *Rates) Refused() uint64 {
	if r == nil {
		return 0
	}
	return r.refused.Load()
}

// enter takes one request out of a bucket, or says when there will be one again.
func (r *Rates) enter(b *bucket) error {
	if b == nil {
		return nil
	}
	if l := b.bytes; l != nil && l.Tokens() < 0 {
		r.refused.Add(1)
		return tooFast(b, "bytes", l, -l.Tokens())
	}
	if l := b.requests; l != nil && !l.Allow() {
		r.refused.Add(1)
		return tooFast(b, "requests", l, 1-l.Tokens())
	}
	return nil
}

// tooFast refuses a request for which so much is missing.
func tooFast(b *bucket, what string, l *rate.Limiter, missing float64) error {
	return graph.Busy(time.Duration(max(missing, 0)/float64(l.Limit())*float64(time.Second)),
		"%s has used up its limit of %s, %v a second; try again later", b.owner, what, float64(l.Limit()))
}

// Meter counts the bytes of one request. A nil Meter counts none.
type Meter struct {
	rates  *Rates
	caller *bucket
	graph  atomic.Pointer[bucket] // once the request has said which
}

type meterKey struct{}

// Arrive begins a request, before it is read: its caller may not have sent too many. The context carries the meter that
// EnterGraph knows the request by; the meter is nil if no bytes need be counted.
func (r *Rates) Arrive(ctx context.Context) (context.Context, *Meter, error) {
	if r == nil {
		return ctx, nil, nil
	}
	var caller *bucket
	if id := Caller(ctx); id != nil {
		l := r.caller
		if id.Limits != nil {
			l = *id.Limits
		}
		caller = r.get(bucketKey{name: id.Name}, l)
	}
	if caller == nil && r.graph.Requests == 0 && r.graph.Bytes == 0 {
		return ctx, nil, nil
	}
	m := &Meter{rates: r, caller: caller}
	if err := r.enter(m.caller); err != nil {
		return ctx, nil, err
	}
	ctx = context.WithValue(ctx, meterKey{}, m)
	if r.graph.Bytes == 0 && (m.caller == nil || m.caller.bytes == nil) {
		return ctx, nil, nil
	}
	return ctx, m, nil
}

// EnterGraph says that the request of a context asks something of a graph, of which others may not have asked too much.
func EnterGraph(ctx context.Context, name string) error {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	if m == nil {
		return nil
	}
	b := m.rates.get(bucketKey{graph: true, name: name}, m.rates.graph)
	m.graph.Store(b)
	return m.rates.enter(b)
}

// Count takes bytes that have come or gone, as many as they are: if that is too many, the next request is refused.
func (m *Meter) Count(n int) {
	if m == nil {
		return
	}
	for _, b := range [...]*bucket{m.caller, m.graph.Load()} {
		if b == nil || b.bytes == nil {
			continue
		}
		for left := n; left > 0; left -= b.bytes.Burst() {
			b.bytes.ReserveN(time.Now(), min(left, b.bytes.Burst()))
		}
	}
}

// Wait waits until no more bytes have been counted than may be.
func (m *Meter) Wait(ctx context.Context) {
	if m == nil {
		return
	}
	for _, b := range [...]*bucket{m.caller, m.graph.Load()} {
		if b == nil || b.bytes == nil || b.bytes.Tokens() >= 0 {
			continue
		}
		// Whoever wants nothing waits for no longer than those before it.
		t := time.NewTimer(b.bytes.ReserveN(time.Now(), 0).Delay())
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}
