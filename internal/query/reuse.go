package query

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// sharedFrom is the estimate in units from which on a read looks for identical ones that run. To join one takes about as long as to read
// 100 vertices, and to look for it 5% of a look-up by key.
const sharedFrom = 100

// reuse answers a read without running it, if its client, the cache or an identical request that runs has the answer; it then returns true
// and has ended the transaction. With a flight, the caller computes the answer for others, too.
func reuse(ctx context.Context, e *Engine, g shard.Graph, tx shard.Tx, p *prepared, params map[string]graph.Value, res *Result) (f *fresh.Flight[fresh.Answer], done bool, err error) {
	if p.reads == nil || res.req.Limits.page() != nil || res.req.Stale > 0 || res.q.quiet || res.req.Limits != nil && res.req.Limits.Partial {
		return nil, false, nil
	}
	cond := res.req.Condition
	shares := e.answers.Caches()
	if p.exec.Query.Cost.Units() < sharedFrom && cond == nil && !shares {
		return nil, false, nil
	}
	if res.place == 0 {
		res.place = e.answers.Enter(fresh.Likeness(res.q.on(), res.req.Statement, params))
	}
	shares = shares || e.answers.Crowded(res.place)
	versions := tx.Features().Versions
	if cond == nil && !shares || versions == nil || p.version != g.Version() {
		return nil, false, nil
	}
	v, ok, err := versions.Version(ctx, p.reads.Parts(restricted.Whole(g)))
	if err == nil && ok {
		err = checked(ctx, tx)
	}
	if err != nil || !ok {
		return nil, false, err
	}
	res.checked = true
	key := p.reads.Key(p.exec.Query, res.freshRequest(ctx, g, p, params), v)
	if cond != nil && cond.Met(key) {
		e.answers.Unmodified.Add(1)
		tx.Rollback()
		return nil, true, nil
	}
	if !shares {
		return nil, false, nil
	}
	res.q.cpu.Suspend() // the one that computes may need the slot
	known, f, err := e.answers.Join(ctx, key, res.place)
	if err != nil {
		return nil, false, graph.DeadlineError(err)
	}
	if known != nil {
		tx.Rollback()
		res.adopt(known)
	}
	return f, known != nil, nil
}

// freshRequest describes the request for its key.
func (r *Result) freshRequest(ctx context.Context, g shard.Graph, p *prepared, params map[string]graph.Value) *fresh.Request {
	f := &fresh.Request{Graph: r.q.on(), Text: r.req.Statement, Params: params, Catalog: p.version, Notices: len(p.notifications(g))}
	if r.req.typed != nil {
		f.Text = r.req.typed.Key()
	}
	f.Scope = restricted.Scope(ctx, g)
	f.Limits[0] = r.req.MaxRows
	if l := r.req.Limits; l != nil {
		f.Limits[1], f.Limits[2], f.Limits[3] = l.Rows, l.Visits, l.Bytes
	}
	return f
}

// adopt makes a shared answer that of the request.
func (r *Result) adopt(a *fresh.Answer) {
	r.Columns, r.counters, r.batches, r.uncommon().shared = a.Columns, a.Counters, a.Own(), a
}

// share computes the answer for a flight, if there is one, before the first row is returned. If it is too large, the request goes on alone,
// from the rows that it has.
func (r *Result) share(ctx context.Context, f *fresh.Flight[fresh.Answer]) error {
	if f == nil {
		return nil
	}
	defer func() {
		if f != nil { // an error, or a panic
			f.Fail()
		}
	}()
	a := &fresh.Answer{Columns: r.Columns}
	bytes, rows := 0, int64(0)
	for r.req.MaxRows == 0 || rows <= r.req.MaxRows {
		b, err := r.rows.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := r.take(r.rows, b, 0); err != nil {
			return err
		}
		rows += int64(b.N)
		if bytes += fresh.BytesOf(r.batches[len(r.batches)-1]); bytes > fresh.MaxBytes {
			break
		}
	}
	if bytes > fresh.MaxBytes || r.rows.Truncated() != "" {
		f.Large()
		f = nil
		return nil
	}
	a.Counters, a.Hops, a.Batches = r.rows.Counters(), slices.Clone(r.rows.Hops()), r.batches
	r.adopt(a)
	f.Done(a, int64(bytes))
	f = nil
	return nil
}
