package past

import (
	"context"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Reverted counts what a Revert has changed.
type Reverted struct{ Vertices, Edges int }

// revertBatch is how many mutations are applied together.
const revertBatch = 4096

// Revert makes the present of a graph what it was at a commit, by one more commit, which is in the log as others are. Deleted vertices and edges
// come back with other ids. Indexes, constraints and rules stay as they are: where the former graph breaks a constraint of today, nothing is
// changed. Its errors are those of History.At.
func Revert(ctx context.Context, g shard.Graph, commit uint64) (done Reverted, err error) {
	tx, err := g.Begin(ctx, shard.WriteExclusive)
	if err != nil {
		return done, err
	}
	defer tx.Rollback()
	f := tx.Features()
	if f.Commits == nil || g.ChangeLog() == nil {
		return done, noLog()
	}
	present, _ := f.Commits.Position()
	if commit > present {
		return done, shard.NoLogPosition(commit, 0, present)
	}
	if present > 0 {
		if err := g.ChangeLog().AwaitLog(ctx, present-1); err != nil { // its sync may be pending
			return done, err
		}
	}
	h := New(g, math.MaxInt)
	m := h.enter(commit)
	defer h.leave(m)
	if err := h.extend(ctx, m, present); err != nil {
		return done, err
	}
	r := reverting{tx: tx, m: m, ids: map[graph.VertexID]graph.VertexID{}}
	for _, step := range []func(context.Context) error{r.deleteEdges, r.vertices, r.edges} {
		if err := step(ctx); err != nil {
			return done, err
		}
	}
	return r.done, tx.Commit(ctx)
}

// reverting is a Revert in progress.
type reverting struct {
	tx   shard.Tx
	m    *moment
	ms   []shard.Mutation
	ids  map[graph.VertexID]graph.VertexID // of vertices that come back: the new ones by the old
	done Reverted
}

// flush applies the mutations.
func (r *reverting) flush(ctx context.Context) error {
	err := r.tx.Apply(ctx, r.ms)
	r.ms = r.ms[:0]
	return err
}

// add adds a mutation; many are applied at once.
func (r *reverting) add(ctx context.Context, m shard.Mutation) error {
	r.ms = append(r.ms, m)
	if len(r.ms) < revertBatch {
		return nil
	}
	return r.flush(ctx)
}

// deleteEdges deletes the edges that were made since.
func (r *reverting) deleteEdges(ctx context.Context) error {
	for i := range r.m.es {
		if e := &r.m.es[i]; !e.was() && e.deleted == 0 {
			r.done.Edges++
			if err := r.add(ctx, shard.Mutation{Op: shard.DeleteEdge, Edge: e.Edge}); err != nil {
				return err
			}
		}
	}
	return r.flush(ctx)
}

// vertices deletes those that were made since, makes those that were deleted, and changes the others back.
func (r *reverting) vertices(ctx context.Context) error {
	for all := r.m.vs; len(all) > 0; {
		n := min(len(all), revertBatch)
		if err := r.someVertices(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

func (r *reverting) someVertices(ctx context.Context, vs []vertex) error {
	ids := make([]graph.VertexID, len(vs))
	for i := range vs {
		ids[i] = vs[i].id
	}
	recs := make([]shard.Record, len(ids))
	if err := r.tx.Records(ctx, ids, recs); err != nil {
		return err
	}
	var made []int // places of vs
	for i := range vs {
		v, now := &vs[i], recs[i]
		var err error
		switch {
		case v.labels == 0 && now.Labels == 0:
			continue // it came and went
		case v.labels == 0:
			err = r.add(ctx, shard.Mutation{Op: shard.DeleteVertex, Vertex: v.id})
		case now.Labels == 0:
			made = append(made, i)
		default:
			if v.labels != now.Labels {
				err = r.add(ctx, shard.Mutation{Op: shard.SetLabels, Vertex: v.id, Labels: v.labels})
			}
			if ps := back(&v.state, now.Props); len(ps) > 0 && err == nil {
				err = r.add(ctx, shard.Mutation{Op: shard.SetVertex, Vertex: v.id, Props: ps})
			}
		}
		if err != nil {
			return err
		}
		r.done.Vertices++
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	for _, i := range made {
		r.ms = append(r.ms, shard.Mutation{Op: shard.CreateVertex, Labels: vs[i].labels, Props: vs[i].over(nil)})
	}
	if err := r.tx.Apply(ctx, r.ms); err != nil {
		return err
	}
	for k, i := range made {
		r.ids[vs[i].id] = r.ms[k].Vertex
	}
	r.ms = r.ms[:0]
	return nil
}

// back returns the properties to set so that present ones become those of a state again.
func back(s *state, present []graph.Property) (out []graph.Property) {
	was := s.over(present)
	value := func(ps []graph.Property, id graph.PropID) (v graph.Value) {
		if at := slices.IndexFunc(ps, func(p graph.Property) bool { return p.ID == id }); at >= 0 {
			v = ps[at].Value
		}
		return v
	}
	for _, p := range was {
		if !changelog.Identical(p.Value, value(present, p.ID)) {
			out = append(out, p)
		}
	}
	for _, p := range present {
		if value(was, p.ID).IsNull() {
			out = append(out, graph.Property{ID: p.ID})
		}
	}
	return out
}

// edges makes those that were deleted since, and changes the others back.
func (r *reverting) edges(ctx context.Context) error {
	for i := range r.m.es {
		e := &r.m.es[i]
		if !e.was() {
			continue
		}
		var err error
		if e.deleted != 0 {
			again := shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: r.end(e.Src), Dst: r.end(e.Dst), Type: e.Type}, Props: e.over(nil)}
			err = r.add(ctx, again)
		} else {
			var now [1]shard.Record
			if err = r.tx.EdgeRecords(ctx, []graph.Edge{e.Edge}, now[:]); err == nil {
				if ps := back(&e.state, now[0].Props); len(ps) > 0 {
					err = r.add(ctx, shard.Mutation{Op: shard.SetEdge, Edge: e.Edge, Props: ps})
				}
			}
		}
		if err != nil {
			return err
		}
		r.done.Edges++
	}
	return r.flush(ctx)
}

// end returns the present id of a vertex of the moment.
func (r *reverting) end(id graph.VertexID) graph.VertexID {
	if now, ok := r.ids[id]; ok {
		return now
	}
	return id
}
