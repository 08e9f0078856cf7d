package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Names returns the labels that every vertex that satisfies l has.
func (l *LabelExpr) Names() []string {
	switch {
	case l == nil:
	case l.Op == LabelName:
		return []string{l.Name}
	case l.Op == LabelAnd:
		var ns []string
		for _, a := range l.Args {
			ns = append(ns, a.Names()...)
		}
		return ns
	}
	return nil
}

// Implies reports whether a vertex that satisfies e has the label.
func (l *LabelExpr) Implies(label string) bool {
	switch {
	case l == nil:
		return false
	case l.Op == LabelAnd:
		return slices.ContainsFunc(l.Args, func(a *LabelExpr) bool { return a.Implies(label) })
	}
	return l.Op == LabelName && l.Name == label
}

// Implied reports whether, by the counters of a snapshot, all far ends of edges of the types (none: all) have the labels.
func (l *LabelExpr) Implied(c *graph.Counts, types []string, dir graph.Direction) bool {
	switch {
	case l == nil:
		return true
	case l.Op == LabelAnd:
		return !slices.ContainsFunc(l.Args, func(a *LabelExpr) bool { return !a.Implied(c, types, dir) })
	}
	return l.Op == LabelName && c.FarEnds(types, dir, l.Name)
}

// AndLabels returns the condition that both hold; nil is none.
func AndLabels(a, b *LabelExpr) *LabelExpr {
	switch {
	case a == nil:
		return b
	case b == nil || a.Op == LabelName && b.Op == LabelName && a.Name == b.Name:
		return a
	}
	return &LabelExpr{Op: LabelAnd, Args: []*LabelExpr{a, b}}
}
