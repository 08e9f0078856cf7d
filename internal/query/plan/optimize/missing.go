package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// scanHint is the number of vertices of a label up to which a scan needs no index. A plan is replaced when its graph has gained
// as many.
const scanHint = 1000

// missing records the index that would replace the next scan: for the most selective condition, over the rarest label.
func (b *builder) missing(v plan.PatVertex) {
	o := b.m.o
	var label string
	for _, name := range v.Labels.Names() {
		if label == "" || o.Counts.ByLabel[name] < o.Counts.ByLabel[label] {
			label = name
		}
	}
	if label == "" || o.Counts.ByLabel[label] <= scanHint {
		return
	}
	var best plan.MissingIndex
	sel := 2.0
	t := &partialPlan{bound: b.bound, preds: b.used}
	for _, pi := range b.m.about[v.Col] {
		p := &b.m.preds[pi]
		op, ok := p.e.(*plan.Op)
		if !ok || p.sel >= sel {
			continue
		}
		for _, arg := range op.Args {
			col, key, ok := termOf(arg)
			if !ok || col != v.Col || key[0] != '.' || o.indexed(label, key[1:]) {
				continue
			}
			ix := graph.Index{Label: label, Props: []string{key[1:]}}
			if a, ok := b.m.indexAccess(t, col, &ix); ok && slices.Contains(a.preds, pi) {
				best, sel = plan.MissingIndex{Label: label, Prop: key[1:], Pos: op.Pos}, p.sel
			}
		}
	}
	if best.Label != "" && !o.noIndex[best] {
		o.noIndex[best] = true
		o.Query.NoIndex = append(o.Query.NoIndex, best)
	}
}

// indexed reports whether a label has a range index whose first property is prop, or is getting one.
func (o *optimizer) indexed(label, prop string) bool {
	return slices.ContainsFunc(o.Indexes, func(ix graph.Index) bool {
		return ix.Label == label && ix.Ordered() && ix.Props[0] == prop
	})
}
