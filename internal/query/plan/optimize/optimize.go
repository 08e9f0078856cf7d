package optimize

import (
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/steps"
	"github.com/hopgate/hopgate/internal/shard"
)

// Env is the optimizer's view of the graph.
type Env struct {
	Counts  *graph.Counts
	Indexes []graph.Index
	// Features are those of the graph; nil: none. No plan needs one that the graph does not have.
	Features *shard.FeatureSet
	// Rules tells by which indexes a scan finds what the caller may see; nil: nothing is hidden, or by none.
	Rules shard.RuleScanner
	// Disable names rules that must not fire; tests run with each rule off.
	Disable []string
	// Fired, if set, is called with the name of each rule that fires.
	Fired func(rule string)
	// Steps counts the work, and may end it; nil: nobody does.
	Steps *steps.Counter
}

type optimizer struct {
	*plan.Statistics
	writes bool // the plan changes the graph
	env    *Env
	// labelNames are the labels that counts knows, sorted, so that one graph has one plan.
	labelNames []string
	subplans   map[plan.Node]bool         // see inSubplan
	ruled      map[string]*plan.RuleScan  // by label, see ruleScan
	noIndex    map[plan.MissingIndex]bool // the elements of Query.NoIndex
}

// A rule rewrites one node whose inputs are already rewritten. It returns nil if it does not apply.
type rule struct {
	name string
	// why says why the rule is correct, and where it would not be.
	why   string
	apply func(o *optimizer, n plan.Node) plan.Node
}

// Plan replaces every Match of q by scans, seeks and expansions and applies the rewrite rules. It changes q. What ends Env.Steps
// unwinds it and leaves an incomplete plan; its caller catches that.
func Plan(q *plan.Query, env Env) {
	if len(q.Cols) == 0 {
		q.Cols = make([]plan.ColInfo, 1)
	}
	o := &optimizer{Statistics: plan.NewStatistics(q, env.Counts, env.Indexes, env.Steps), env: &env, subplans: map[plan.Node]bool{}, ruled: map[string]*plan.RuleScan{}, noIndex: map[plan.MissingIndex]bool{}}
	o.labelNames = slices.Sorted(maps.Keys(o.Counts.ByLabel))
	o.writes = writes(q.Root)
	o.barriers(q.Root)
	o.down(&q.Root, logical)
	o.plan(&q.Root)
	o.down(&q.Root, physical)
	o.distinctEnds(q.Root, false)
	e := o.Estimate(q.Root)
	q.Estimates, q.Cost, q.Start = e.Rows, e.Cost(q.Root), e.Start()
}

// down applies rules bottom-up to a plan and to the subplans in its expressions.
func (o *optimizer) down(n *plan.Node, rules []rule) {
	plan.EachInput(*n, func(c *plan.Node) { o.down(c, rules) })
	plan.EachPlan(*n, func(c *plan.Node) { o.down(c, rules) })
	for again := true; again; {
		again = false
		for i := range rules {
			r := &rules[i]
			if o.Steps.Add(1); o.off(r.name) {
				continue
			}
			if m := r.apply(o, *n); m != nil {
				*n, again = m, true
				o.fired(r.name)
			}
		}
	}
}

// plan replaces the Match nodes bottom-up.
func (o *optimizer) plan(n *plan.Node) {
	plan.EachInput(*n, func(c *plan.Node) { o.plan(c) })
	plan.EachPlan(*n, func(c *plan.Node) { o.plan(c) })
	o.Steps.Add(1)
	if w, ok := (*n).(*plan.PathMultiplicity); ok {
		pushMultiplicity(n, w)
	}
	m, ok := (*n).(*plan.Match)
	if !ok {
		return
	}
	if !m.Optional {
		*n = o.match(m.Input, &m.Pattern)
		return
	}
	outer := plan.NewColSet()
	for _, e := range m.Pattern.Preds {
		outer.Reads(e)
	}
	mine := plan.NewColSet()
	var cols []plan.Col
	see := func(c plan.Col, bound bool) {
		if bound {
			outer.Add(c)
		} else if c != 0 && !mine.Has(c) {
			mine.Add(c)
			cols = append(cols, c)
		}
	}
	for _, v := range m.Pattern.Vertices {
		see(v.Col, v.Bound)
	}
	for _, e := range m.Pattern.Edges {
		see(e.Col, e.Bound)
		if e.Walk != nil {
			for _, c := range e.Walk.Binds() {
				see(c, false)
			}
		}
		outer.AddAll(e.Reads())
	}
	for _, p := range m.Pattern.Paths {
		see(p.Col, false)
	}
	for c := range mine.All() {
		outer.Remove(c)
	}
	*n = &plan.Apply{
		Input: m.Input, Kind: plan.Optional, Cols: cols,
		Sub: o.match(&plan.Argument{Cols: outer.Sorted()}, &m.Pattern),
	}
}
