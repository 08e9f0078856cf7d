package past

import (
	"context"
	"sync"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// tx is a transaction that reads the past. What its reader does not do, shard.Completed composes.
type tx struct {
	shard.Completed
	r    reader
	time int64
	set  *shard.FeatureSet
	sums aggregator
}

// FeaturesOf returns the features of transactions that read the past, by those of the present.
func FeaturesOf(of *shard.FeatureSet) *shard.FeatureSet {
	set := *of
	set[shard.Commits] = ""
	set[shard.Turns] = "the past is only read"
	set[shard.ChangeDates], set[shard.Versions] = "the past does not change", "the past does not change"
	return &set
}

func (h *History) begin(of shard.Tx, m *moment, at uint64, time int64) shard.Tx {
	t := &tx{r: reader{h: h, tx: of, names: h.names, m: m, at: at}, time: time, set: h.features}
	t.sums = aggregator{&t.r, of.Features().Aggregates}
	var once sync.Once
	t.Init(h.names, &t.r, &t.r, func() {
		once.Do(func() {
			h.leave(m)
			of.Rollback()
		})
	})
	return t
}

// Features implements shard.Tx.
func (t *tx) Features() shard.Features {
	f := t.r.tx.Features()
	f.Set, f.Turns, f.Dated, f.Versions, f.Commits = t.set, nil, nil, nil, t
	if f.Aggregates != nil {
		f.Aggregates = &t.sums
	}
	if f.Exact != nil {
		f.Exact = t
	}
	if f.Bounds != nil {
		f.Bounds = t
	}
	if f.Text != nil {
		f.Text = &texts{&t.r, f.Text}
	}
	return f
}

// Position implements shard.Committed.
func (t *tx) Position() (number uint64, time int64) { return t.r.m.number, t.time }

// CommittedAt implements shard.Committed: nothing is committed.
func (*tx) CommittedAt() (number uint64, time int64) { return 0, 0 }

// From implements shard.Committed.
func (*tx) From(changelog.Origin) {}

// DegreeBounds implements shard.Bounder.
func (t *tx) DegreeBounds(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	return t.r.Degrees(ctx, ids, types, dir, out)
}

// aggregator adds up where the graph is what no later commit has changed.
type aggregator struct {
	r  *reader
	of shard.Aggregator
}

// Aggregate implements shard.Aggregator.
func (a *aggregator) Aggregate(ctx context.Context, req *shard.Aggregate) (shard.Aggregation, error) {
	if req.Type != 0 && a.r.changedEdges(req.Type) || req.Type == 0 && a.r.changed(req.Label) {
		return nil, nil
	}
	return a.of.Aggregate(ctx, req)
}
