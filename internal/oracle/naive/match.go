package naive

import (
	"slices"
	"sort"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// match returns the rows of all matches of a pattern that a condition holds for.
func (m *machine) match(paths []*ast.PathPattern, where ast.Expr, r Row) []Row {
	var out []Row
	x := &matcher{machine: m, used: map[*Rel]bool{}}
	x.paths(paths, r, func(found Row) {
		x.toil(where)
		if m.holds(where, found) {
			out = append(out, found)
		}
	})
	return out
}

// matcher looks for matches; a relationship that is used cannot be used again.
type matcher struct {
	*machine
	used map[*Rel]bool
	late []check // conditions on variables that are bound later
}

type check func(r Row) bool

// toil counts the steps of a statement.
func (x *matcher) toil(what any) {
	if *x.work++; *x.work > mostWork {
		unknown(what)
	}
}

// when calls yield if a condition holds. A condition with an unbound variable waits until the end of the pattern.
func (x *matcher) when(c check, r Row, yield func()) {
	ok, later := x.try(c, r)
	if later {
		x.late = append(x.late, c)
		yield()
		x.late = x.late[:len(x.late)-1]
	} else if ok {
		yield()
	}
}

func (x *matcher) try(c check, r Row) (ok, later bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, is := p.(unbound); !is {
				panic(p)
			}
			ok, later = true, true
		}
	}()
	return c(r), false
}

// settled reports whether the postponed conditions hold.
func (x *matcher) settled(from int, r Row) bool {
	for _, c := range x.late[from:] {
		if ok, _ := x.try(c, r); !ok {
			return false
		}
	}
	return true
}

func (x *matcher) paths(paths []*ast.PathPattern, r Row, yield func(Row)) {
	if len(paths) == 0 {
		if x.settled(0, r) {
			yield(r)
		}
		return
	}
	p := paths[0]
	if p.Search == ast.SearchNone {
		x.path(p, r, func(_ *Path, r Row) { x.paths(paths[1:], r, yield) })
		return
	}
	for _, f := range x.search(p, r) {
		x.paths(paths[1:], f, yield)
	}
}

// path finds the trails of a pattern.
func (x *matcher) path(p *ast.PathPattern, r Row, yield func(*Path, Row)) {
	x.elements(p.Elements, nil, nil, r, func(found *Path, r Row) {
		if p.Variable != nil {
			r = with(r, p.Variable.Name, found)
		}
		yield(found, r)
	})
}

// search returns the rows of the wanted ones among the paths.
func (x *matcher) search(p *ast.PathPattern, r Row) []Row {
	type found struct {
		path *Path
		row  Row
	}
	groups := map[[2]*Node][]found{}
	var pairs [][2]*Node
	from := len(x.late)
	x.path(p, r, func(path *Path, r Row) {
		if !x.settled(from, r) {
			return
		}
		ends := [2]*Node{path.Nodes[0], path.Nodes[len(path.Nodes)-1]}
		if groups[ends] == nil {
			pairs = append(pairs, ends)
		}
		groups[ends] = append(groups[ends], found{path, r})
	})
	k := 1
	if p.Count != nil {
		k = int(x.eval(p.Count, r).(int64))
	}
	var out []Row
	for _, ends := range pairs {
		all := groups[ends]
		sort.SliceStable(all, func(i, j int) bool { return len(all[i].path.Rels) < len(all[j].path.Rels) })
		lengths := 0
		for i, f := range all {
			if i == 0 || len(f.path.Rels) != len(all[i-1].path.Rels) {
				lengths++
			}
			switch p.Search {
			case ast.SearchShortest, ast.SearchShortestPath, ast.SearchAny:
				if i >= k {
					continue
				}
			default:
				if lengths > k {
					continue
				}
			}
			out = append(out, f.row)
		}
	}
	return out
}

// elements continues along a pattern; so is nil before its first vertex. The ends of a subpath coincide with the vertices beside it.
func (x *matcher) elements(es []ast.PathElement, at *Node, so *Path, r Row, yield func(*Path, Row)) {
	if so == nil {
		if _, ok := es[0].(*ast.NodePattern); !ok {
			es = append([]ast.PathElement{&ast.NodePattern{}}, es...)
		}
		if v := es[0].(*ast.NodePattern).Variable; v != nil {
			if n, ok := r[v.Name].(*Node); ok && n.gone {
				unknown(v) // the meaning of a pattern with a deleted node is undefined
			}
		}
		for _, n := range x.g.Nodes {
			x.node(es[0].(*ast.NodePattern), n, r, func(r Row) {
				x.elements(es[1:], n, &Path{Nodes: []*Node{n}}, r, yield)
			})
		}
		return
	}
	if len(es) == 0 {
		yield(so, r)
		return
	}
	switch e := es[0].(type) {
	case *ast.NodePattern:
		x.node(e, at, r, func(r Row) { x.elements(es[1:], at, so, r, yield) })
	case *ast.RelationshipPattern:
		x.rel(e, at, r, func(rels []*Rel, nodes []*Node, r Row) {
			end, next := at, &Path{Nodes: slices.Concat(so.Nodes, nodes), Rels: slices.Concat(so.Rels, rels)}
			if len(nodes) > 0 {
				end = nodes[len(nodes)-1]
			}
			x.elements(es[1:], end, next, r, yield)
		})
	case *ast.SubpathPattern:
		x.subpath(e, at, r, func(sub *Path, r Row) {
			next := &Path{Nodes: slices.Concat(so.Nodes, sub.Nodes[1:]), Rels: slices.Concat(so.Rels, sub.Rels)}
			x.elements(es[1:], sub.Nodes[len(sub.Nodes)-1], next, r, yield)
		})
	}
}

// bind assigns a value to a variable unless the variable has another one.
func bind(r Row, v *ast.Variable, value any) (Row, bool) {
	if v == nil {
		return r, true
	}
	if old, ok := r[v.Name]; ok {
		return r, old != nil && key(old) == key(value)
	}
	return with(r, v.Name, value), true
}

func (x *matcher) node(p *ast.NodePattern, n *Node, r Row, yield func(Row)) {
	r, ok := bind(r, p.Variable, n)
	if !ok || !hasLabels(p.Labels, n.Labels) {
		return
	}
	x.when(func(r Row) bool { return x.fits(p.Properties, n.Props, r) && x.holds(p.Where, r) }, r, func() { yield(r) })
}

// fits reports whether properties match those of a pattern.
func (x *matcher) fits(want ast.Expr, props map[string]any, r Row) bool {
	if want == nil {
		return true
	}
	for k, v := range x.mapLit(want.(*ast.MapLit), r) {
		if equal(props[k], v) != 1 {
			return false
		}
	}
	return true
}

func (x *matcher) bounds(g *ast.Range, r Row) (lo, hi int) {
	lo, hi = 1, -1
	if g.Min != nil {
		lo = int(x.eval(g.Min, r).(int64))
	}
	if g.Max != nil {
		hi = int(x.eval(g.Max, r).(int64))
	}
	return lo, hi
}

// rel finds the matches of a relationship pattern: single relationships, or trails if its length is variable.
func (x *matcher) rel(p *ast.RelationshipPattern, at *Node, r Row, yield func([]*Rel, []*Node, Row)) {
	length := p.Length
	if length == nil {
		length = p.Quantifier
	}
	if length == nil {
		x.step(p, at, r, func(e *Rel, to *Node) {
			r, ok := bind(r, p.Variable, e)
			if !ok {
				return
			}
			x.when(func(r Row) bool { return x.holds(p.Where, r) }, r, func() { yield([]*Rel{e}, []*Node{to}, r) })
		})
		return
	}
	lo, hi := x.bounds(length, r)
	var walk func(at *Node, rels []*Rel, nodes []*Node)
	walk = func(at *Node, rels []*Rel, nodes []*Node) {
		if len(rels) >= lo {
			list := []any{}
			for _, e := range rels {
				list = append(list, e)
			}
			if r, ok := bind(r, p.Variable, list); ok {
				yield(rels, nodes, r)
			}
		}
		if hi >= 0 && len(rels) >= hi {
			return
		}
		x.step(p, at, r, func(e *Rel, to *Node) {
			if p.Where != nil && !x.holds(p.Where, with(r, p.Variable.Name, e)) {
				return
			}
			walk(to, append(slices.Clone(rels), e), append(slices.Clone(nodes), to))
		})
	}
	walk(at, nil, nil)
}

// step calls yield for each relationship that a pattern may go over, while it counts as used.
func (x *matcher) step(p *ast.RelationshipPattern, at *Node, r Row, yield func(*Rel, *Node)) {
	for _, e := range slices.Clone(x.g.Rels) {
		if e.Src != at && e.Dst != at || x.used[e] || !hasLabels(p.Types, []string{e.Type}) || !x.fits(p.Properties, e.Props, r) {
			continue
		}
		x.toil(p)
		x.used[e] = true
		if e.Src == at && p.Direction != ast.DirectionIn {
			yield(e, e.Dst)
		}
		if e.Dst == at && (p.Direction == ast.DirectionIn || p.Direction == ast.DirectionBoth && e.Src != e.Dst) {
			yield(e, e.Src)
		}
		delete(x.used, e)
	}
}

// subpath repeats a path; its variables become lists.
func (x *matcher) subpath(p *ast.SubpathPattern, at *Node, r Row, yield func(*Path, Row)) {
	lo, hi := 1, 1
	if p.Quantifier != nil {
		lo, hi = x.bounds(p.Quantifier, r)
	}
	var names []string
	ast.Inspect(p.Path, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.NodePattern:
			names = appendName(names, n.Variable)
		case *ast.RelationshipPattern:
			names = appendName(names, n.Variable)
		}
		return true
	})
	var round func(n int, so *Path, lists Row)
	round = func(n int, so *Path, lists Row) {
		if n >= lo {
			all := r
			for _, name := range names {
				all = with(all, name, lists[name])
			}
			yield(so, all)
		}
		if hi >= 0 && n >= hi {
			return
		}
		end := so.Nodes[len(so.Nodes)-1]
		es := p.Path.Elements
		first := es[0].(*ast.NodePattern)
		x.node(first, end, r, func(in Row) {
			from := len(x.late)
			x.elements(es[1:], end, &Path{Nodes: []*Node{end}}, in, func(sub *Path, in Row) {
				if !x.settled(from, in) || !x.holds(p.Where, in) {
					return
				}
				next := Row{}
				for _, name := range names {
					next[name] = append(slices.Clone(lists[name].([]any)), in[name])
				}
				late := x.late
				x.late = x.late[:from]
				round(n+1, &Path{Nodes: slices.Concat(so.Nodes, sub.Nodes[1:]), Rels: slices.Concat(so.Rels, sub.Rels)}, next)
				x.late = late
			})
		})
	}
	empty := Row{}
	for _, name := range names {
		empty[name] = []any{}
	}
	round(0, &Path{Nodes: []*Node{at}}, empty)
}

func appendName(names []string, v *ast.Variable) []string {
	if v == nil || slices.Contains(names, v.Name) {
		return names
	}
	return append(names, v.Name)
}

// variables returns the names that a pattern binds.
func variables(paths []*ast.PathPattern) []string {
	var names []string
	for _, p := range paths {
		ast.Inspect(p, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.PathPattern:
				names = appendName(names, n.Variable)
			case *ast.NodePattern:
				names = appendName(names, n.Variable)
			case *ast.RelationshipPattern:
				names = appendName(names, n.Variable)
			case *ast.SubpathPattern:
			case ast.Expr:
				return false
			}
			return true
		})
	}
	return names
}
