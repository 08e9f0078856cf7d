package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Format gives the plan as an indented tree, the root first; a subplan stands below its operator, marked by ┊.
func Format(q *Query) string {
	var b strings.Builder
	f := &formatter{q: q}
	f.tree(&b, q.Root, "")
	return b.String()
}

// Describe gives an operator's name and its arguments as EXPLAIN shows them.
func Describe(q *Query, n Node) (name, args string) {
	f := &formatter{q: q}
	return f.describe(n)
}

// FormatExpr gives an expression as text, in openCypher's notation as far as it has one.
func FormatExpr(q *Query, e Expr) string {
	f := &formatter{q: q}
	return f.expr(e)
}

// Children gives the inputs and subplans of an operator, those in its expressions last.
func Children(n Node) (children []Node) {
	inputs(n, func(c *Node) { children = append(children, *c) })
	eachPlan(n, func(c *Node) { children = append(children, *c) })
	return children
}

type formatter struct{ q *Query }

func (f *formatter) tree(b *strings.Builder, n Node, indent string) {
	name, args := f.describe(n)
	b.WriteString(indent + name)
	if args != "" {
		b.WriteString(" " + args)
	}
	b.WriteByte('\n')
	i := 0
	inputs(n, func(c *Node) {
		switch n.(type) {
		case *Apply, *Merge, *Foreach, *Transactions:
			if i > 0 {
				f.tree(b, *c, indent+"  ┊ ")
				break
			}
			f.tree(b, *c, indent+"  ")
		default:
			f.tree(b, *c, indent+"  ")
		}
		i++
	})
	eachPlan(n, func(c *Node) { f.tree(b, *c, indent+"  ┊ ") })
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

func (f *formatter) extra(where []Expr, unlike []Col) string {
	s := ""
	if len(where) > 0 {
		s += " WHERE " + f.exprs(where, " AND ")
	}
	if len(unlike) > 0 {
		s += " UNLIKE " + f.cols(unlike)
	}
	return s
}

// shown gives a column if it is in the set, and else 0.
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

func (f *formatter) describe(n Node) (name, args string) {
	switch n := n.(type) {
	case *Unit:
		return "Unit", ""
	case *Argument:
		return "Argument", f.cols(n.Cols)
	case *Match:
		name = "Match"
		if n.Optional {
			name = "OptionalMatch"
		}
		return name, f.pattern(&n.Pattern)
	case *Scan:
		if n.Labels == nil {
			return "AllVerticesScan", f.vertex(n.Out, nil)
		}
		return "LabelScan", f.vertex(n.Out, n.Labels)
	case *Seek, *SeekEdges, *SeekRange, *SeekEdgeRange:
		return f.seek(n)
	case *SeekID:
		fn := "id"
		if n.Element {
			fn = "elementId"
		}
		is := " = "
		if n.Each {
			is = " IN "
		}
		if n.Edge {
			return "RelationshipByID", strings.Trim(f.edge(n.Out, n.Types, "", graph.Both), "-") + " WHERE " + fn + "(" + f.col(n.Out) + ")" + is + f.expr(n.Key)
		}
		return "VertexByID", fn + "(" + f.col(n.Out) + ")" + is + f.expr(n.Key)
	case *Expand:
		name = "ExpandAll"
		if n.Into {
			name = "ExpandInto"
		}
		return name, "(" + f.col(n.From) + ")" + f.edge(n.Edge, n.Types, "", n.Dir) + f.vertex(n.To, n.Labels) + f.extra(n.Where, n.Unlike)
	case *Intersect:
		args = f.vertex(n.To, n.Labels)
		for i, leg := range n.Legs {
			args += []string{" FROM ", " AND "}[min(i, 1)] + "(" + f.col(leg.From) + ")" + f.edge(leg.Edge, leg.Types, "", leg.Dir) + f.extra(nil, leg.Unlike)
			if leg.Exists {
				args += " EXISTS"
			}
		}
		return "ExpandIntersect", args
	case *VarExpand:
		name = "VarLengthExpand"
		if n.Into {
			name += "Into"
		}
		if n.Ends {
			name += "Distinct"
		}
		if n.Depth != 0 || n.Last != 0 {
			name += "ByDepth"
		}
		return name, "(" + f.col(n.From) + ")" + f.edge(n.Edges, n.Types, f.length(n.Min, n.Max), n.Dir) +
			f.vertex(n.To, n.Labels) + f.extra(n.Where, n.Unlike)
	case *FindPaths:
		return "FindPaths", f.findPaths(n)
	case *ShortestPath:
		name = "ShortestPath"
		if n.All {
			name = "AllShortestPaths"
		}
		if n.Length != 0 {
			name += "Length"
		}
		return name, "(" + f.col(n.From) + ")" + f.edge(n.Edges, n.Types, f.length(n.Min, n.Max), n.Dir) +
			f.vertex(n.To, nil) + f.extra(append(append([]Expr{}, n.Where...), n.PathWhere...), nil)
	case *Filter:
		return "Filter", f.exprs(n.Preds, " AND ")
	case *Project:
		if n.Keep {
			return "Extend", f.items(n.Items)
		}
		return "Projection", f.items(n.Items)
	case *Aggregate:
		aggs := make([]string, len(n.Aggs))
		for i, a := range n.Aggs {
			in := f.exprs(a.Args, ", ")
			if len(a.Args) == 0 {
				in = "*"
			}
			if a.Distinct {
				in = "DISTINCT " + in
			}
			aggs[i] = a.Func + "(" + in + ") AS " + f.col(a.Col)
		}
		if n.Times != nil {
			aggs[len(aggs)-1] += " TIMES " + f.expr(n.Times)
		}
		if len(n.Keys) == 0 {
			return "Aggregation", strings.Join(aggs, ", ")
		}
		if len(aggs) == 0 {
			return "Aggregation", "BY " + f.items(n.Keys)
		}
		return "Aggregation", strings.Join(aggs, ", ") + " BY " + f.items(n.Keys)
	case *Distinct:
		if n.Key != nil {
			return "Distinct", f.cols(n.Cols) + " BY KEY " + f.col(n.Key.Col)
		}
		return "Distinct", f.cols(n.Cols)
	case *Sort:
		keys := make([]string, len(n.Keys))
		for i, k := range n.Keys {
			if keys[i] = f.expr(k.Expr); k.Col != 0 {
				keys[i] += " AS " + f.col(k.Col)
			}
			if k.Desc {
				keys[i] += " DESC"
			}
		}
		if n.Limit != nil {
			return "Top", strings.Join(keys, ", ") + " " + f.slice(n.Skip, n.Limit)
		}
		return "Sort", strings.Join(keys, ", ")
	case *Slice:
		return "Slice", f.slice(n.Skip, n.Limit)
	case *Unwind:
		return "Unwind", f.expr(n.List) + " AS " + f.col(n.Out)
	case *Apply:
		names := [...]string{"Apply", "OptionalApply", "LetExists", "LetCount", "RollUp"}
		if n.Expr != nil {
			args = f.expr(n.Expr)
		}
		if n.Out != 0 {
			args = strings.TrimSpace(args + " AS " + f.col(n.Out))
		}
		if n.Together {
			args = strings.TrimSpace(args + " TOGETHER")
		}
		return names[n.Kind], args
	case *Transactions:
		return "Transactions", f.transactions(n)
	case *HashJoin:
		name = "HashJoin"
		keys := make([]string, len(n.LeftKeys))
		for i := range keys {
			keys[i] = f.col(n.LeftKeys[i]) + " = " + f.col(n.RightKeys[i])
		}
		return name, strings.Join(keys, ", ")
	case *Product:
		return "Product", ""
	case *Union:
		if n.All {
			return "UnionAll", f.cols(n.Out)
		}
		return "Union", f.cols(n.Out)
	case *Create:
		return "Create", f.create(n)
	case *Merge:
		args = f.create(n.Create)
		if len(n.OnCreate) > 0 {
			args += " ON CREATE SET " + f.sets(n.OnCreate)
		}
		if len(n.OnMatch) > 0 {
			args += " ON MATCH SET " + f.sets(n.OnMatch)
		}
		return "Merge", args
	case *Set:
		return "Set", f.sets(n.Items)
	case *Delete:
		name = "Delete"
		if n.Detach {
			name = "DetachDelete"
		}
		return name, f.exprs(n.Exprs, ", ")
	case *Foreach:
		args = f.col(n.Var) + " IN " + f.expr(n.List)
		if n.Together {
			args += " TOGETHER"
		}
		return "Foreach", args
	case *CallProc:
		y := make([]string, len(n.Yield))
		for i, v := range n.Yield {
			y[i] = v.Name + " AS " + f.col(v.Col)
		}
		args = n.Proc + "(" + f.exprs(n.Args, ", ") + ")"
		if len(y) > 0 {
			args += " YIELD " + strings.Join(y, ", ")
		}
		return "ProcedureCall", args
	case *LoadCSV:
		return "LoadCSV", f.expr(n.URL) + " AS " + f.col(n.Out)
	case *Eager:
		return "Eager", n.Why
	case *Drain:
		return "EmptyResult", ""
	case *CountStore:
		switch {
		case n.Edges:
			return "EdgeCountFromStatistics", "[:" + n.Name + "] AS " + f.col(n.Out)
		}
		return "VertexCountFromStatistics", "(:" + n.Name + ") AS " + f.col(n.Out)
	case *FoldCount:
		parts := make([]string, len(n.Weights))
		for i, w := range n.Weights {
			parts[i] = "(" + f.col(w.Col) + ")" + f.branches(w.Branches)
		}
		return "FoldCount", strings.TrimSpace(strings.Join(parts, ", ") + " AS " + f.col(n.Out))
	case *Weigh:
		return "Weigh", "(" + f.col(n.Col) + ")" + f.branches(n.Branches) + " AS " + f.col(n.Out)
	case *FrontierCount:
		length := ""
		args = "(" + f.col(n.From) + ")"
		if n.Most > 0 {
			length = fmt.Sprintf("*%d..", n.Least)
			if n.Most < math.MaxInt {
				length += strconv.Itoa(n.Most)
			}
		}
		for _, h := range n.Hops {
			reads := Reads(h.Where...)
			args += f.edge(reads.shown(h.Edge), h.Types, length, h.Dir)
			args += f.vertex(reads.shown(h.To), h.Labels)
			if len(h.Where) > 0 {
				args += f.extra(h.Where, nil) + " "
			}
		}
		args = strings.TrimSpace(args)
		if n.Trail {
			args += " BY TRAILS"
		}
		return "FrontierCount", args + " AS " + f.col(n.Out)
	case *Traverse:
		return "Traverse", f.traverse(n)
	case *CheapestPaths:
		return "CheapestPaths", f.cheapest(n)
	}
	return fmt.Sprintf("%T", n), ""
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
	seen := ColSet{}
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

// labels writes the labels of what is made or set.
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

// String gives the expression in the pattern language.
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
