package plan

import (
	"strconv"
	"strings"
)

// traverse describes a Traverse: its mode, its hops, and the least number of hops of a row.
func (f *formatter) traverse(n *Traverse) string {
	var b strings.Builder
	b.WriteString(strings.ToUpper(n.Mode.String()))
	if n.Ends {
		b.WriteString(" OF VERTICES")
	}
	b.WriteString(" (" + f.col(n.From) + ")")
	for i := range n.Hops {
		h := &n.Hops[i]
		b.WriteString(f.edge(0, h.Types, "", h.Dir) + "()" + f.extra(h.Where, nil))
		for _, c := range []struct {
			name string
			n    int
		}{{"SKIP OVER", h.Skip}, {"DEGREE", h.MaxDegree}, {"SAMPLE", h.Sample}, {"LIMIT", h.Limit}} {
			if c.n > 0 {
				b.WriteString(" " + c.name + " " + strconv.Itoa(c.n))
			}
		}
	}
	if n.Min < len(n.Hops) {
		b.WriteString(" FROM HOP " + strconv.Itoa(n.Min))
	}
	return b.String()
}

func (f *formatter) cheapest(n *CheapestPaths) string {
	length := "*"
	if n.MaxHops > 0 {
		length += "1.." + strconv.Itoa(n.MaxHops)
	}
	s := "(" + f.col(n.From) + ")" + f.edge(0, n.Types, length, n.Dir) + "(" + f.col(n.To) + ")" + f.extra(n.Where, nil)
	if n.Weight != nil {
		s += " BY " + f.exprs([]Expr{n.Weight}, "")
	}
	if n.All {
		return s + " ALL"
	}
	return s + " K " + strconv.Itoa(n.K)
}
