package naive

import (
	"maps"
	"slices"
	"sort"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// query runs a query for one row. The variables of base stay in scope even if WITH leaves them out.
func (m *machine) query(q *ast.Query, row, base Row) (rows []Row, columns []string) {
	if q.Next != nil {
		unknown(q)
	}
	for _, p := range q.Parts {
		m.sure.last = false
		var found []Row
		found, columns = m.single(p.Clauses, []Row{row}, base)
		rows = append(rows, found...)
	}
	if len(q.Parts) > 1 && !q.All {
		rows = distinct(rows, columns)
	}
	return rows, columns
}

func distinct(rows []Row, columns []string) []Row {
	seen := map[string]bool{}
	var out []Row
	for _, r := range rows {
		var k []any
		for _, c := range columns {
			k = append(k, r[c])
		}
		if s := key(k); !seen[s] {
			seen[s] = true
			out = append(out, r)
		}
	}
	return out
}

// single runs clauses in order, each for all rows. columns is nil without a RETURN.
func (m *machine) single(clauses []ast.Clause, rows []Row, base Row) (_ []Row, columns []string) {
	for _, c := range clauses {
		switch c := c.(type) {
		case *ast.Match:
			rows = m.matchClause(c, rows)
		case *ast.Unwind:
			rows = m.unwind(c, rows)
		case *ast.With:
			if c.Form != ast.WithPlain && c.Form != ast.WithFilter {
				unknown(c)
			}
			rows, _ = m.project(c.Projection, c.Where, rows, base)
		case *ast.Return:
			m.sure.last = c.Projection.Skip == nil && c.Projection.Limit == nil
			return m.project(c.Projection, nil, rows, nil)
		case *ast.CallSubquery:
			rows = m.callSubquery(c, rows)
		default:
			rows = m.update(c, rows)
		}
	}
	return rows, nil
}

func (m *machine) matchClause(c *ast.Match, rows []Row) []Row {
	var out []Row
	for _, r := range rows {
		found := m.match(c.Pattern, c.Where, r)
		if c.Optional && len(found) == 0 {
			for _, name := range variables(c.Pattern) {
				if _, ok := r[name]; !ok {
					r = with(r, name, nil)
				}
			}
			found = []Row{r}
		}
		out = append(out, found...)
	}
	return out
}

func (m *machine) unwind(c *ast.Unwind, rows []Row) []Row {
	var out []Row
	for _, r := range rows {
		list := m.eval(c.List, r)
		all, ok := list.([]any)
		if !ok && list != nil {
			all = []any{list}
		}
		for _, v := range all {
			out = append(out, with(r, c.Variable.Name, v))
		}
	}
	return out
}

func (m *machine) callSubquery(c *ast.CallSubquery, rows []Row) []Row {
	var out []Row // also in CALL {…} IN TRANSACTIONS, provided that none fails
	for _, r := range rows {
		in, base := Row{}, Row{}
		if c.ImportAll {
			in, base = r, r
		}
		for _, v := range c.Imports {
			in, base = with(in, v.Name, r[v.Name]), with(base, v.Name, r[v.Name])
		}
		if !c.Scoped {
			in = r // an importing WITH keeps the variables that it names
			if w, ok := c.Query.Parts[0].Clauses[0].(*ast.With); !ok || w.Where != nil {
				in = Row{}
			}
		}
		m.sure.lazy++
		found, columns := m.query(c.Query, in, base)
		m.sure.lazy--
		m.sure.last = false
		switch {
		case columns == nil:
			out = append(out, r)
		case len(found) == 0 && c.Optional:
			all := maps.Clone(r)
			for _, name := range columns {
				all[name] = nil
			}
			out = append(out, all)
		default:
			for _, f := range found {
				all := maps.Clone(r)
				for _, name := range columns {
					all[name] = f[name]
				}
				out = append(out, all)
			}
		}
	}
	return out
}

// projected is a row after a projection, with the scope that ORDER BY sees.
type projected struct {
	row, scope Row
	aggs       map[ast.Expr]any
	keys       []any
}

func (m *machine) project(p *ast.Projection, where ast.Expr, rows []Row, base Row) ([]Row, []string) {
	var columns []string
	var grouping, exprs []ast.Expr
	items := p.Items
	if p.Star && len(rows) > 0 {
		own := p.Names()
		for _, name := range slices.Sorted(maps.Keys(rows[0])) {
			if own[name] {
				continue
			}
			items = append(slices.Clone(items), &ast.ProjectionItem{Expr: &ast.Variable{Name: name}})
		}
	}
	var aggs []ast.Expr
	for _, it := range items {
		columns, exprs = append(columns, it.Name()), append(exprs, it.Expr)
		if found := aggregatesOf(it.Expr); len(found) > 0 {
			aggs = append(aggs, found...)
		} else {
			grouping = append(grouping, it.Expr)
		}
	}
	for _, s := range p.OrderBy {
		aggs = append(aggs, aggregatesOf(s.Expr)...)
	}
	var out []projected
	add := func(r Row, values map[ast.Expr]any) {
		m := &machine{g: m.g, aggs: values, sure: m.sure, work: m.work}
		row := maps.Clone(base)
		if row == nil {
			row = Row{}
		}
		scope := maps.Clone(r)
		for i, e := range exprs {
			row[columns[i]] = m.eval(e, r)
			scope[columns[i]] = row[columns[i]]
		}
		out = append(out, projected{row: row, scope: scope, aggs: values})
	}
	switch {
	case p.Star && len(rows) == 0: // without a variable beside the items, an aggregate would have a row; nobody asks for that
	case len(aggs) == 0:
		for _, r := range rows {
			add(r, m.aggs)
		}
	default:
		for _, group := range m.groups(grouping, rows) {
			values := maps.Clone(m.aggs)
			if values == nil {
				values = map[ast.Expr]any{}
			}
			for _, a := range aggs {
				values[a] = m.aggregate(a, group)
			}
			r := Row{}
			if len(group) > 0 {
				r = group[0]
			}
			add(r, values)
		}
	}
	if p.Distinct {
		seen := map[string]bool{}
		out = slices.DeleteFunc(out, func(x projected) bool {
			var k []any
			for _, c := range columns {
				k = append(k, x.row[c])
			}
			s := key(k)
			defer func() { seen[s] = true }()
			return seen[s]
		})
	}
	m.sort(p.OrderBy, out)
	from, to := 0, len(out)
	if p.Skip != nil {
		from = min(len(out), int(m.eval(p.Skip, Row{}).(int64)))
	}
	if p.Limit != nil {
		to = min(len(out), from+int(m.eval(p.Limit, Row{}).(int64)))
	}
	var result []Row
	for _, x := range out[from:to] {
		if m.holds(where, x.row) {
			result = append(result, x.row)
		}
	}
	return result, columns
}

func (m *machine) groups(by []ast.Expr, rows []Row) [][]Row {
	if len(by) == 0 {
		return [][]Row{rows}
	}
	at := map[string]int{}
	var out [][]Row
	for _, r := range rows {
		k := key(m.all(by, r))
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k], out = i, append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

func (m *machine) sort(by []*ast.SortItem, rows []projected) {
	if len(by) == 0 {
		return
	}
	for i := range rows {
		m := &machine{g: m.g, aggs: rows[i].aggs, sure: m.sure, work: m.work}
		for _, s := range by {
			rows[i].keys = append(rows[i].keys, m.eval(s.Expr, rows[i].scope))
		}
	}
	sort.SliceStable(rows, func(i, j int) bool {
		for k, s := range by {
			if c := order(rows[i].keys[k], rows[j].keys[k]); c != 0 {
				return (c < 0) != s.Desc
			}
		}
		return false
	})
}
