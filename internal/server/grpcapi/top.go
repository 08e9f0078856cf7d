package grpcapi

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
)

// maxOperations bounds the operations that are told apart within one interval; the rest are counted as one.
const maxOperations = 1000

// others is the text of the operation that the rest are counted as.
const others = "(others)"

// top counts what each operation does.
type top struct {
	mu    sync.Mutex
	since time.Time
	byKey map[operationKey]*operation
}

type operationKey struct{ kind, graph, fingerprint, text string }

// operation is what one operation did since top.since.
type operation struct {
	operationKey
	calls, errors uint64
	rows          int64
	total, most   time.Duration
	classes       [latencyClasses]uint32
}

// Latencies are counted in classes whose bounds grow by a tenth, from 1 µs to beyond an hour.
const (
	latencyClasses = 256
	latencyGrowth  = 1.1
)

// add counts a request.
func (t *top) add(r *query.Ended) {
	key := operationKey{kind: string(r.Kind), graph: r.Graph, text: r.Statement}
	if r.Kind != query.RouteKind {
		key.fingerprint, key.text = query.Fingerprint(r.Kind, r.Statement)
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

// pastTop gives what the operations did in the last interval in which one ended, or nil if none has yet.
func pastTop(w *query.Watch, interval time.Duration) *pb.TopResponse {
	ended, since, until := w.Latest(interval)
	if len(ended) == 0 || !since.Before(until) {
		return nil
	}
	t := &top{since: since, byKey: map[operationKey]*operation{}}
	for i := range ended {
		t.add(&ended[i])
	}
	return t.take(until)
}

func latencyClass(d time.Duration) int {
	if d <= time.Microsecond {
		return 0
	}
	return min(int(math.Ceil(math.Log(float64(d)/float64(time.Microsecond))/math.Log(latencyGrowth))), latencyClasses-1)
}

// p99 is the bound that at most one in a hundred calls were above.
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

// take gives what was counted until now, and starts over.
func (t *top) take(now time.Time) *pb.TopResponse {
	t.mu.Lock()
	since, byKey := t.since, t.byKey
	t.since, t.byKey = now, map[operationKey]*operation{}
	t.mu.Unlock()
	all := make([]*operation, 0, len(byKey))
	var routes, rest time.Duration
	for _, o := range byKey {
		all = append(all, o)
		if o.kind == string(query.RouteKind) {
			routes += o.total
		} else {
			rest += o.total
		}
	}
	slices.SortFunc(all, func(a, b *operation) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text), cmp.Compare(a.graph, b.graph))
	})
	out := &pb.TopResponse{End: timestamppb.New(now), Interval: durationpb.New(now.Sub(since))}
	for _, o := range all {
		whole := rest
		if o.kind == string(query.RouteKind) {
			whole = routes
		}
		p := &pb.Operation{
			Kind: o.kind, Graph: o.graph, Fingerprint: o.fingerprint, Text: o.text, Calls: o.calls, Errors: o.errors, Rows: uint64(o.rows),
			Rate: float64(o.calls) / now.Sub(since).Seconds(), Mean: durationpb.New(o.total / time.Duration(o.calls)), P99: durationpb.New(o.p99()),
		}
		if whole > 0 {
			p.Share = float64(o.total) / float64(whole)
		}
		out.Operations = append(out.Operations, p)
	}
	return out
}
