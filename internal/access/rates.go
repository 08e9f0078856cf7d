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

// Rates limit the requests and bytes per second of callers and graphs. After an idle second, a burst of one second's worth is
// allowed. A nil Rates has no limits.
type Rates struct {
	limits atomic.Pointer[rateLimits]

	mu      sync.Mutex
	buckets map[bucketKey]*bucket
	sweepAt int // number of buckets at which full ones are dropped
	refused atomic.Uint64
}

// rateLimits are the limits of those without limits of their own.
type rateLimits struct{ caller, graph Limits }

// NewRates returns rates with default limits for callers and graphs.
func NewRates(caller, graphs Limits) *Rates {
	r := &Rates{buckets: map[bucketKey]*bucket{}, sweepAt: 1024}
	r.SetLimits(caller, graphs)
	return r
}

// SetLimits changes the default limits.
func (r *Rates) SetLimits(caller, graphs Limits) { r.limits.Store(&rateLimits{caller, graphs}) }

// bucketKey identifies a caller or a graph.
type bucketKey struct {
	caller Subject
	graph  string
}

// bucket is the remaining quota of a caller or a graph.
type bucket struct {
	owner           string // as named in messages
	limits          Limits
	requests, bytes *rate.Limiter
}

// get returns the bucket of a caller or a graph, or nil without rate limits.
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
	b = &bucket{owner: key.caller.Name, limits: l, requests: newLimiter(l.Requests), bytes: newLimiter(l.Bytes)}
	if key.graph != "" {
		b.owner = fmt.Sprintf("the graph %q", key.graph)
	}
	r.buckets[key] = b
	return b
}

// sweep drops full buckets, which are idle. r.mu is held.
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

// Refused returns the number of requests refused for exceeding a rate.
func (r *Rates) Refused() uint64 {
	if r == nil {
		return 0
	}
	return r.refused.Load()
}

// enter takes one request from a bucket, or returns an error with the time until the next one is available.
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

// tooFast is the error for a request that exceeds the quota by missing.
func tooFast(b *bucket, what string, l *rate.Limiter, missing float64) error {
	return graph.Busy(time.Duration(max(missing, 0)/float64(l.Limit())*float64(time.Second)),
		"%s has used up its limit of %s, %v a second; try again later", b.owner, what, float64(l.Limit()))
}

// Meter counts the bytes of one request. A nil Meter counts nothing.
type Meter struct {
	rates  *Rates
	caller *bucket
	graph  atomic.Pointer[bucket] // set once the request names its graph
}

type meterKey struct{}

// Arrive admits a request of the caller in ctx before it is read. The returned context carries the meter, through which EnterGraph
// identifies the request; the meter is nil if bytes are not limited.
func (r *Rates) Arrive(ctx context.Context) (context.Context, *Meter, error) {
	if r == nil {
		return ctx, nil, nil
	}
	var caller *bucket
	limits := r.limits.Load()
	if id := Caller(ctx); id != nil {
		l := limits.caller
		if id.Limits != nil {
			l = *id.Limits
		}
		caller = r.get(bucketKey{caller: id.Subject()}, l)
	}
	if caller == nil && limits.graph.Requests == 0 && limits.graph.Bytes == 0 {
		return ctx, nil, nil
	}
	m := &Meter{rates: r, caller: caller}
	if err := r.enter(m.caller); err != nil {
		return ctx, nil, err
	}
	ctx = context.WithValue(ctx, meterKey{}, m)
	if limits.graph.Bytes == 0 && (m.caller == nil || m.caller.bytes == nil) {
		return ctx, nil, nil
	}
	return ctx, m, nil
}

// EnterGraph admits the request of a context to a graph, subject to the graph's rate.
func EnterGraph(ctx context.Context, name string) error {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	if m == nil {
		return nil
	}
	b := m.rates.get(bucketKey{graph: name}, m.rates.limits.Load().graph)
	m.graph.Store(b)
	return m.rates.enter(b)
}

// Count counts transferred bytes in any case: an excess delays or refuses later requests.
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

// Wait waits until the counted bytes are within the rate.
func (m *Meter) Wait(ctx context.Context) {
	if m == nil {
		return
	}
	for _, b := range [...]*bucket{m.caller, m.graph.Load()} {
		if b == nil || b.bytes == nil || b.bytes.Tokens() >= 0 {
			continue
		}
		// A reservation of nothing waits only for earlier ones.
		t := time.NewTimer(b.bytes.ReserveN(time.Now(), 0).Delay())
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}
