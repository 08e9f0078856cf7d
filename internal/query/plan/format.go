package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Format returns the plan as an indented tree, the root first. A subplan stands below its operator, marked by ┊.
func Format(q *Query) string {
	var b strings.Builder
	f := &formatter{q: q}
	f.tree(&b, q.Root, "")
	return b.String()
}

// Describe returns an operator's name and its arguments as EXPLAIN shows them.
func Describe(q *Query, n Node) (name, args string) {
	f := &formatter{q: q}
	return n.describe(f)
}

// FormatExpr returns an expression in openCypher's notation, as far as it has one.
func FormatExpr(q *Query, e Expr) string {
	f := &formatter{q: q}
	return f.expr(e)
}

// Children returns the inputs and subplans of an operator, those in its expressions last.
func Children(n Node) (children []Node) {
	n.inputs(func(c *Node) { children = append(children, *c) })
	EachPlan(n, func(c *Node) { children = append(children, *c) })
	return children
}

type formatter struct{ q *Query }

func (f *formatter) tree(b *strings.Builder, n Node, indent string) {
	name, args := n.describe(f)
	b.WriteString(indent + name)
	if args != "" {
		b.WriteString(" " + args)
	}
	b.WriteByte('\n')
	outer := outerInput(n)
	n.inputs(func(c *Node) {
		if outer != nil && *c != outer {
			f.tree(b, *c, indent+"  ┊ ")
		} else {
			f.tree(b, *c, indent+"  ")
		}
	})
	EachPlan(n, func(c *Node) { f.tree(b, *c, indent+"  ┊ ") })
}

func (f *formatter) col(c Col) string {
	if c <= 0 || int(c) >= len(f.q.Cols) {
		return "_"
	}
	name := f.q.Cols[c].Name
	if name == "" {
		return "_" + strconv.Itoa(int(c))
	}
	for i := range f.q.Cols[:c] {
		if f.q.Cols[i].Name == name {
			return name + "#" + strconv.Itoa(int(c))
		}
	}
	return name
}

// Variables returns the names of columns, sorted and without those of the planner and the executor.
func Variables(q *Query, cols []Col) []string {
	var names []string
	for _, c := range cols {
		if c <= 0 || int(c) >= len(q.Cols) {
			continue
		}
		if name := q.Cols[c].Name; name != "" && name[0] != 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *formatter) cols(cs []Col) string {
	s := make([]string, len(cs))
	for i, c := range cs {
		s[i] = f.col(c)
	}
	return strings.Join(s, ", ")
}

func (f *formatter) items(is []Item) string {
	s := make([]string, len(is))
	for i, it := range is {
		s[i] = f.col(it.Col)
		if r, ok := it.Expr.(*ColRef); !ok || r.Col != it.Col {
			s[i] = f.expr(it.Expr) + " AS " + s[i]
		}
	}
	return strings.Join(s, ", ")
}

func (f *formatter) exprs(es []Expr, sep string) string {
	s := make([]string, len(es))
	for i, e := range es {
		s[i] = f.expr(e)
	}
	return strings.Join(s, sep)
}

func (f *formatter) vertex(c Col, l *LabelExpr) string {
	if l == nil {
		return "(" + f.col(c) + ")"
	}
	return "(" + f.col(c) + ":" + l.String() + ")"
}

func (f *formatter) edge(c Col, types []string, length string, dir graph.Direction) string {
	body := ""
	if c != 0 {
		body = f.col(c)
	}
	if len(types) > 0 {
		body += ":" + strings.Join(types, "|")
	}
	body += length
	switch dir {
	case graph.Out:
		return "-[" + body + "]->"
	case graph.In:
		return "<-[" + body + "]-"
	}
	return "-[" + body + "]-"
}

func (f *formatter) length(lo, hi Expr) string {
	s := "*"
	if lo != nil {
		s += f.expr(lo)
	}
	s += ".."
	if hi != nil {
		s += f.expr(hi)
	}
	return s
}

func (f *formatter) extra(where []Expr, distinctFrom []Col) string {
	s := ""
	if len(where) > 0 {
		s += " WHERE " + f.exprs(where, " AND ")
	}
	if len(distinctFrom) > 0 {
		s += " DISTINCT FROM " + f.cols(distinctFrom)
	}
	return s
}

// shown returns a column if it is in the set, and else 0.
func (s ColSet) shown(c Col) Col {
	if s.Has(c) {
		return c
	}
	return 0
}

func (f *formatter) slice(skip, limit Expr) string {
	var s []string
	if skip != nil {
		s = append(s, "SKIP "+f.expr(skip))
	}
	if limit != nil {
		s = append(s, "LIMIT "+f.expr(limit))
	}
	return strings.Join(s, " ")
}

func (f *formatter) branches(bs []Branch) string {
	parts := make([]string, len(bs))
	for i, b := range bs {
		parts[i] = f.edge(0, b.Types, "", b.Dir) + f.vertex(0, b.Labels) + f.branches(b.Branches)
		if b.Optional {
			parts[i] += "?"
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, " × ") + "}"
}

func (f *formatter) pattern(p *Pattern) string {
	var parts []string
	named := map[Col]PatVertex{}
	seen := NewColSet()
	for _, v := range p.Vertices {
		named[v.Col] = v
	}
	show := func(c Col) string {
		v := named[c]
		if seen.Has(c) {
			return f.vertex(c, nil)
		}
		seen.Add(c)
		s := f.vertex(c, v.Labels)
		if v.Bound {
			s = "bound " + s
		}
		return s
	}
	for _, e := range p.Edges {
		length := ""
		if e.Length != nil {
			length = f.length(e.Length.Min, e.Length.Max)
		}
		s := show(e.Left) + f.edge(e.Col, e.Types, length, e.Dir) + show(e.Right)
		if e.Walk != nil {
			s = f.selector(e.Walk) + " " + show(e.Left) + " [" + f.walk(e.Walk) + "] " + show(e.Right)
		}
		if e.Bound {
			s = "bound edge " + s
		}
		if e.Shortest != "" {
			s = e.Shortest + " shortest " + s
		}
		if len(e.Where) > 0 {
			s += " EACH " + f.col(e.EdgeVar) + " WHERE " + f.exprs(e.Where, " AND ")
		}
		parts = append(parts, s)
	}
	for _, v := range p.Vertices {
		if !seen.Has(v.Col) {
			parts = append(parts, show(v.Col))
		}
	}
	for _, path := range p.Paths {
		parts = append(parts, f.col(path.Col)+" = path("+f.cols(path.Cols)+")")
	}
	s := strings.Join(parts, ", ")
	if len(p.Preds) > 0 {
		s += " WHERE " + f.exprs(p.Preds, " AND ")
	}
	return s
}

func (f *formatter) create(c *Create) string {
	var parts []string
	for _, v := range c.Vertices {
		s := f.col(v.Out)
		s += f.labels(v.Labels, v.LabelsOf)
		if v.Props != nil {
			s += " " + f.expr(v.Props)
		}
		parts = append(parts, "("+s+")")
	}
	for _, e := range c.Edges {
		s := f.col(e.Out) + ":" + e.Type
		if e.TypeOf != nil {
			s += "$(" + f.expr(e.TypeOf) + ")"
		}
		if e.Props != nil {
			s += " " + f.expr(e.Props)
		}
		parts = append(parts, "("+f.col(e.Src)+")-["+s+"]->("+f.col(e.Dst)+")")
	}
	return strings.Join(parts, ", ")
}

// labels writes the labels that are created or set.
func (f *formatter) labels(known []string, of []Expr) string {
	s := ""
	for _, l := range known {
		s += ":" + l
	}
	for _, e := range of {
		s += ":$(" + f.expr(e) + ")"
	}
	return s
}

func (f *formatter) sets(is []SetItem) string {
	parts := make([]string, len(is))
	for i, it := range is {
		x := f.expr(it.X)
		switch it.Op {
		case SetProperty:
			parts[i] = x + "." + it.Key + " = " + f.expr(it.Value)
			if it.KeyOf != nil {
				parts[i] = x + "[" + f.expr(it.KeyOf) + "] = " + f.expr(it.Value)
			}
		case SetMap:
			parts[i] = x + " = " + f.expr(it.Value)
		case AddMap:
			parts[i] = x + " += " + f.expr(it.Value)
		case AddLabels:
			parts[i] = x + f.labels(it.Labels, it.LabelsOf)
		case RemoveLabels:
			parts[i] = "REMOVE " + x + f.labels(it.Labels, it.LabelsOf)
		}
	}
	return strings.Join(parts, ", ")
}

// String returns the expression in the pattern language.
func (l *LabelExpr) String() string {
	switch l.Op {
	case LabelName:
		return l.Name
	case LabelAny:
		return "%"
	case LabelNot:
		return "!" + l.Args[0].group()
	}
	parts := make([]string, len(l.Args))
	for i, a := range l.Args {
		parts[i] = a.group()
	}
	if l.Op == LabelAnd {
		return strings.Join(parts, "&")
	}
	return strings.Join(parts, "|")
}

func (l *LabelExpr) group() string {
	if l.Op == LabelAnd || l.Op == LabelOr {
		return "(" + l.String() + ")"
	}
	return l.String()
}
