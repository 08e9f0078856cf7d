package fetch

import "slices"

// joinedTable returns the table of a join as the joined rows see it, with the additions of the join's object, nil for none.
//
// A left or right join takes the rows of a table after its own @group, @having and DISTINCT, so its grouped rows are a subquery.
// Every other join pairs rows first and groups the pairs. Over the pairs, the keys of the join's object replace those of the table.
func (b *binder) joinedTable(a *array, j *join) (t *table, extra *table, links []*cond, err error) {
	t = a.find(j.key)
	links = t.links(a)
	if j.on != "" {
		links = []*cond{t.link(j.on)}
	}
	side := j.kind == "<" || j.kind == ">"
	if side {
		if t.shaped() {
			t = t.derived(links)
		} else if len(t.order) > 0 {
			plain := *t
			plain.order = nil
			t = &plain
		}
	}
	if j.extra == nil {
		return t, nil, links, nil
	}
	p := treeParser{limits: &b.req.limits}
	if extra, err = p.table(j.extra, 1); err != nil {
		return nil, nil, nil, err
	}
	over := *t
	if extra.has {
		over.has, over.columns, over.distinct, over.except = true, extra.columns, extra.distinct, extra.except
	}
	if extra.group != nil {
		over.group = extra.group
	}
	if extra.havings != nil {
		over.having, over.havings = extra.having, extra.havings
	}
	if extra.order != nil {
		over.order = extra.order
	}
	return &over, extra, links, nil
}

// rightFirst moves a right join before the left joins that precede it: those depend on main rows, which a right join keeps or drops
// entirely.
func rightFirst(joins []*join) []*join {
	at := slices.IndexFunc(joins, func(j *join) bool { return j.kind == ">" })
	if at <= 0 || slices.ContainsFunc(joins[:at], func(j *join) bool { return j.kind != "<" }) {
		return joins
	}
	moved := []*join{joins[at]}
	return append(append(moved, joins[:at]...), joins[at+1:]...)
}
