package request

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/query/watch"
)

const (
	// maxOperations bounds the operations counted separately within an interval; the rest count as one.
	maxOperations = 1000
	// others is the text of the operation that represents the rest.
	others = "(others)"
	// Latency classes grow by 10 %, from 1 µs to over an hour.
	latencyClasses = 256
	latencyGrowth  = 1.1
)

// Top counts calls by operation.
type Top struct {
	mu    sync.Mutex
	since time.Time
	byKey map[operationKey]*operation
}

// NewTop starts counting.
func NewTop(since time.Time) *Top { return &Top{since: since, byKey: map[operationKey]*operation{}} }

// Interval holds the counts of all operations in an interval.
type Interval struct {
	End        time.Time
	Length     time.Duration
	Operations []Operation // by total time, longest first
}

// Operation holds the counts of an operation in an interval.
type Operation struct {
	Kind, Graph, Fingerprint, Text string
	Calls, Errors                  uint64
	Rows                           int64
	Rate                           float64 // calls per second
	Mean, P99                      time.Duration
	Share                          float64 // of the time of all operations of its kind
}

type operationKey struct{ kind, graph, fingerprint, text string }

// operation counts an operation since Top.since.
type operation struct {
	operationKey
	calls, errors uint64
	rows          int64
	total, most   time.Duration
	classes       [latencyClasses]uint32
}

// Add counts a request.
func (t *Top) Add(r *watch.Ended) {
	key := operationKey{kind: string(r.Kind), graph: r.Graph, text: r.Statement}
	if r.Kind != watch.RouteKind {
		key.fingerprint, key.text = watch.Fingerprint(r.Kind, r.Statement)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.byKey[key]
	if o == nil {
		if len(t.byKey) >= maxOperations {
			key = operationKey{kind: string(r.Kind), text: others}
			o = t.byKey[key]
		}
		if o == nil {
			o = &operation{operationKey: key}
			t.byKey[key] = o
		}
	}
	o.calls++
	if r.Failed {
		o.errors++
	}
	o.rows += r.Rows
	o.total += r.Elapsed
	o.most = max(o.most, r.Elapsed)
	o.classes[latencyClass(r.Elapsed)]++
}

// PastTop returns the counts of the last interval in which an operation ended, or nil.
func PastTop(w *watch.Watch, interval time.Duration) *Interval {
	ended, since, until := w.Latest(interval)
	if len(ended) == 0 || !since.Before(until) {
		return nil
	}
	t := NewTop(since)
	for i := range ended {
		t.Add(&ended[i])
	}
	return t.Take(until)
}

func latencyClass(d time.Duration) int {
	if d <= time.Microsecond {
		return 0
	}
	return min(int(math.Ceil(math.Log(float64(d)/float64(time.Microsecond))/math.Log(latencyGrowth))), latencyClasses-1)
}

// p99 returns a bound that at most 1 % of the calls exceed.
func (o *operation) p99() time.Duration {
	rest := o.calls / 100
	for i := latencyClasses - 1; i >= 0; i-- {
		n := uint64(o.classes[i])
		if n > rest {
			return min(o.most, time.Duration(float64(time.Microsecond)*math.Pow(latencyGrowth, float64(i))))
		}
		rest -= n
	}
	return o.most
}

// Take returns the counts so far and starts over.
func (t *Top) Take(now time.Time) *Interval {
	t.mu.Lock()
	since, byKey := t.since, t.byKey
	t.since, t.byKey = now, map[operationKey]*operation{}
	t.mu.Unlock()
	all := make([]*operation, 0, len(byKey))
	var routes, rest time.Duration
	for _, o := range byKey {
		all = append(all, o)
		if o.kind == string(watch.RouteKind) {
			routes += o.total
		} else {
			rest += o.total
		}
	}
	slices.SortFunc(all, func(a, b *operation) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text), cmp.Compare(a.graph, b.graph))
	})
	out := &Interval{End: now, Length: now.Sub(since)}
	for _, o := range all {
		whole := rest
		if o.kind == string(watch.RouteKind) {
			whole = routes
		}
		p := Operation{
			Kind: o.kind, Graph: o.graph, Fingerprint: o.fingerprint, Text: o.text, Calls: o.calls, Errors: o.errors, Rows: o.rows,
			Rate: float64(o.calls) / now.Sub(since).Seconds(), Mean: o.total / time.Duration(o.calls), P99: o.p99(),
		}
		if whole > 0 {
			p.Share = float64(o.total) / float64(whole)
		}
		out.Operations = append(out.Operations, p)
	}
	return out
}
