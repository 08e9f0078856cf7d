package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// The cost of an index entry, relative to that of a scanned vertex whose visibility is computed (entryCost) or cached (entryCostRemembered).
const (
	entryCost           = 4
	entryCostRemembered = 40
)

// ruleScan returns how to scan vertices by indexes of what the access rules compare, or nil if a scan of the label is cheaper. A statement that
// writes does not: what it has read might move in the index.
func (o *optimizer) ruleScan(l *plan.LabelExpr) *plan.RuleScan {
	if o.env.Rules == nil || o.writes || o.off(ruleIndex) {
		return nil
	}
	var best *plan.RuleScan
	for _, name := range l.Names() {
		r, known := o.ruled[name]
		if !known {
			r = o.ruleScanOf(name)
			o.ruled[name] = r
		}
		if r != nil && (best == nil || r.Rows < best.Rows) {
			best = r
		}
	}
	if best == nil || best.Rows*o.entryCost() >= o.Vertices(l) {
		return nil
	}
	return best
}

// shown estimates the share of vertices that access rules let the caller see: all, unless a scan finds them by an index.
func (o *optimizer) shown(l *plan.LabelExpr) float64 {
	if r := o.ruleScan(l); r != nil {
		return r.Rows / max(1, o.Vertices(l))
	}
	return 1
}

func (o *optimizer) entryCost() float64 {
	if o.env.Rules.Remembers() {
		return entryCostRemembered
	}
	return entryCost
}

// ruleScanOf is ruleScan for a label, whatever it costs.
func (o *optimizer) ruleScanOf(label string) *plan.RuleScan {
	parts, ok := o.env.Rules.RuleIndexes(label)
	if !ok {
		return nil
	}
	r := &plan.RuleScan{Label: label}
	intervals := 0
	for i := range parts {
		intervals += max(1, parts[i].Values)
		ix := &parts[i].Index
		r.Rows += o.RuleRows(ix, parts[i].Values, parts[i].Bounds)
		if slices.Contains(r.Indexes, ix.ID) {
			continue
		}
		r.Indexes = append(r.Indexes, ix.ID)
		if slices.ContainsFunc(o.env.Indexes, func(own graph.Index) bool { return own.ID == ix.ID }) {
			r.Shown = append(r.Shown, ix.Name)
		}
	}
	r.Most = max(intervals, int(float64(intervals)*o.Vertices(&plan.LabelExpr{Name: label})/o.entryCost()/max(1, r.Rows)))
	return r
}
