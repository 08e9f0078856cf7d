package plan

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// seekRange returns the name and the details of an index scan over a range, or over all entries in order.
func (f *formatter) seekRange(n *SeekRange) (name, details string) {
	name, details = rangeSeek(n), "("+f.col(n.Out)+":"+n.Index.Label+")"
	if interval := f.interval(n); interval != "" {
		details += " WHERE " + interval
	} else {
		name, details = "IndexScan", details+" ORDER BY "+f.col(n.Out)+"."+n.Index.Props[0]
	}
	if n.Down {
		details += " DESC"
	}
	if n.From != nil {
		details += " AFTER"
	}
	return name, details + [...]string{"", ", nulls first", ", nulls last"}[n.Missing]
}

// ruleScan returns how a scan finds what access rules show. It says nothing without an index that the caller may know: that there are rules of
// a label would tell that there is the label.
func (f *formatter) ruleScan(r *RuleScan) string {
	if r == nil || len(r.Shown) == 0 {
		return ""
	}
	return " BY RULES ON " + strings.Join(r.Shown, ", ")
}

func rangeSeek(n *SeekRange) string {
	if n.Area != NoArea {
		return "PointIndexSeek"
	}
	return "IndexRangeSeek"
}

func indexSeek(ix *graph.Index) string {
	if ix.Unique {
		return "UniqueIndexSeek"
	}
	return "IndexSeek"
}

// equalities prints the conditions of a look-up by keys.
func (f *formatter) equalities(out Col, ix *graph.Index, keys []Expr, each bool) string {
	op := " = "
	if each {
		op = " IN "
	}
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = f.col(out) + "." + ix.Props[i] + op + f.expr(k)
	}
	return strings.Join(parts, " AND ")
}

// interval prints the conditions of a look-up by a range.
func (f *formatter) interval(n *SeekRange) string {
	p := f.col(n.Out) + "." + n.Index.Props[len(n.Equal)]
	var parts []string
	if len(n.Equal) > 0 {
		parts = append(parts, f.equalities(n.Out, &n.Index, n.Equal, false))
	}
	switch {
	case n.Area == AreaPoint:
		return p + " = " + f.expr(n.Lo)
	case n.Area == AreaBox:
		return "point.withinBBox(" + p + ", " + f.expr(n.Lo) + ", " + f.expr(n.Hi) + ")"
	case n.Area == AreaNear:
		return "point.distance(" + p + ", " + f.expr(n.Lo) + ")" + upTo(n) + f.expr(n.Hi)
	case n.Prefix:
		parts = append(parts, p+" STARTS WITH "+f.expr(n.Lo))
	case n.Lo != nil && n.LoOpen:
		parts = append(parts, p+" > "+f.expr(n.Lo))
	case n.Lo != nil:
		parts = append(parts, p+" >= "+f.expr(n.Lo))
	}
	if n.Hi != nil {
		parts = append(parts, p+upTo(n)+f.expr(n.Hi))
	}
	return strings.Join(parts, " AND ")
}

// upTo is the operator of the upper bound.
func upTo(n *SeekRange) string {
	if n.HiOpen {
		return " < "
	}
	return " <= "
}
