package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// condition prepares the run for what the client asks, if its answer may have a tag. catalog is the version of the definitions by which the
// request was checked.
func (r *fetchRun) condition(ctx context.Context, req *FetchRequest, parsed *syntax.Request, catalog uint64) {
	req.Condition.Reset() // it may be a rerun
	if req.Condition == nil || req.Page != nil || req.Stale > 0 || fetchWrites(req.Method) {
		return
	}
	r.cond = req.Condition
	r.asked = fresh.Request{
		Graph: r.q.on(), Text: "fetch " + req.Method + " " + string(req.Body), Scope: restricted.Scope(ctx, r.g) + " " + parsed.Rights.Scope(), Catalog: catalog,
	}
}

// Unmodified implements fetch.Reuser.
//
// The plans are those of the bound program, which is a function of the request, the rights of its caller and the catalog. Data decides which
// of them run, and with which values of earlier rows; all of that comes from rows of the plans themselves. So if nothing changed that any of
// the plans reads, the first one gives the same rows, which lead to the same next one, and so on to the end of the answer. What the
// plans of access rules have found of the caller is given as values. The answer tells the time that it took, so the tag is weak.
func (r *fetchRun) Unmodified(ctx context.Context, plans func() []*plan.Query, caller map[string]graph.Value) (bool, error) {
	versions := r.tx.Features().Versions
	if r.cond == nil || versions == nil {
		return false, nil
	}
	all := plans()
	for _, q := range all {
		if _, err := r.prepare(ctx, q); err != nil {
			return false, nil //nolint:nilerr // A plan that runs fails by the same error, and one that does not has never failed a request.
		}
	}
	reads := r.programs.Reads(all)
	if reads == nil || r.asked.Catalog != r.g.Version() {
		return false, nil
	}
	v, ok, err := versions.Version(ctx, reads.Parts(restricted.Whole(r.g)))
	if err == nil && ok {
		err = checked(ctx, r.tx)
	}
	if err != nil || !ok {
		return false, err
	}
	r.asked.Params = caller
	if !r.cond.Met(reads.Key(nil, &r.asked, v)) {
		return false, nil
	}
	r.e.answers.Unmodified.Add(1)
	return true, nil
}
