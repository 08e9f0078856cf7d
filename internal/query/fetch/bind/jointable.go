package bind

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// joinedTable returns the table of a join as the joined rows see it, with the additions of the join's object, nil for none.
//
// A left or right join takes the rows of a table after its own @group, @having and DISTINCT, so its grouped rows are a subquery.
// Every other join pairs rows first and groups the pairs. Over the pairs, the keys of the join's object replace those of the table.
func (b *Binder) joinedTable(a *syntax.Array, j *syntax.Join) (t *syntax.Table, extra *syntax.Table, links []*syntax.Cond, err error) {
	t = a.Find(j.Key)
	links = t.Links(a)
	if j.On != "" {
		links = []*syntax.Cond{t.Link(j.On)}
	}
	side := j.Kind == "<" || j.Kind == ">"
	if side {
		if t.Shaped() {
			t = t.Derived(links)
		} else if len(t.Order) > 0 {
			plain := *t
			plain.Order = nil
			t = &plain
		}
	}
	if j.Extra == nil {
		return t, nil, links, nil
	}
	p := syntax.TreeParser{Limits: &b.Req.Limits}
	if extra, err = p.Table(j.Extra, 1); err != nil {
		return nil, nil, nil, err
	}
	over := *t
	if extra.Has {
		over.Has, over.Columns, over.Distinct, over.Except = true, extra.Columns, extra.Distinct, extra.Except
	}
	if extra.Group != nil {
		over.Group = extra.Group
	}
	if extra.Havings != nil {
		over.Having, over.Havings = extra.Having, extra.Havings
	}
	if extra.Order != nil {
		over.Order = extra.Order
	}
	return &over, extra, links, nil
}

// rightFirst moves a right join before the left joins that precede it: those depend on main rows, which a right join keeps or drops
// entirely.
func rightFirst(joins []*syntax.Join) []*syntax.Join {
	at := slices.IndexFunc(joins, func(j *syntax.Join) bool { return j.Kind == ">" })
	if at <= 0 || slices.ContainsFunc(joins[:at], func(j *syntax.Join) bool { return j.Kind != "<" }) {
		return joins
	}
	moved := []*syntax.Join{joins[at]}
	return append(append(moved, joins[:at]...), joins[at+1:]...)
}
