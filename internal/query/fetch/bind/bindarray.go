package bind

import (
	"errors"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// defaultCount is the default number of items of an array.
const defaultCount = 10

// whole binds an array in an object as a query of its own.
func (b *answers) whole(m *syntax.Member, sc *Scope) (*Output, error) {
	lv := b.Open()
	l, err := b.list(lv, m, sc)
	if err != nil {
		return nil, err
	}
	b.Close(lv, l.node)
	q := lv.Query
	out := &Output{Kind: OutArray, Lit: b.literal(m.Key, m.Kind), Query: q, Elem: l.elem, Page: l.page, Explain: l.explain || b.explain}
	out.Whole = m.Array.Count == nil && m.Array.Page == nil
	if l.page != nil {
		total, err := b.totals(m, sc, l.page)
		if err != nil {
			return nil, err
		}
		out.Before = append(out.Before, total)
		if !l.page.rows {
			out.Query = nil
		}
	}
	return out, nil
}

// totals creates the query that counts the rows of an array.
func (b *answers) totals(m *syntax.Member, sc *Scope, pg *Paging) (*Query, error) {
	lv := b.Open()
	inner := NewScope(sc, lv)
	s, err := b.counted(lv, m.Array, m.Array.Main(), inner)
	if err != nil {
		return nil, err
	}
	b.Close(lv, s.Node)
	pg.Slot = b.capture(lv, TakeFirst, s.count, "total", 0)
	return lv.Query, nil
}

// items is a list that is bound: its rows at a level, and how an item is written.
type items struct {
	node    plan.Node
	elem    *Element
	page    *Paging
	explain bool
}

// list binds the items of an array at a level.
func (b *answers) list(lv *level, m *syntax.Member, sc *Scope) (*items, error) {
	a := m.Array
	inner := NewScope(sc, lv)
	arr := &boundArray{lv: lv, value: -1}
	if lv.parent == nil {
		arr.query = lv.Query
	}
	sc.things[m.Key] = &thing{array: arr, inner: inner}
	if a.Hop != nil && a.Hop.Find != "" {
		return b.paths(lv, a, inner)
	}
	main := a.Main()
	s, err := b.selects(lv, a, main, inner)
	if err != nil {
		return nil, err
	}
	l := &items{node: b.cut(a, s.Node, defaultCount), page: b.paging(a), explain: main.Explain}
	arr.page = l.page
	fields, err := b.itemFields(lv, l, s, a, inner)
	if err != nil {
		return nil, err
	}
	for _, p := range s.Parts {
		p.bound.open = false
	}
	l.elem, err = b.unwrap(lv, a, arr, inner, fields)
	return l, err
}

// paging says which totals an array requests beside its rows; nil for none.
func (b *answers) paging(a *syntax.Array) *Paging {
	if a.Query == 0 {
		return nil
	}
	pg := &Paging{Col: -1, Count: defaultCount, CountOrd: -1, PageOrd: -1, rows: a.Query == 2}
	if a.Count != nil {
		pg.CountOrd = a.Count.Ord
	}
	if a.Page != nil {
		pg.PageOrd = a.Page.Ord
	}
	if a.Query == 2 {
		name := formatKey(a.Key, syntax.MemberArray)
		total, info := name+"Total", name+"Info"
		for _, m := range a.N.Parent.Members {
			switch strings.TrimSuffix(m.Key, "@") {
			case total, info:
				return pg
			}
		}
		pg.Total = b.literal(total, syntax.MemberPlain)
		pg.Info = b.literal(info, syntax.MemberPlain)
	}
	return pg
}

// itemFields returns the members of an item, in the order of the request.
func (b *answers) itemFields(lv *level, l *items, s *Selection, a *syntax.Array, inner *Scope) ([]Field, error) {
	parts := make(map[string]*Part)
	for _, p := range s.Parts {
		parts[p.t.Key] = p
	}
	var fields []Field
	for _, m := range a.Members {
		if m.Kind == syntax.MemberTable {
			if p := parts[m.Key]; p != nil {
				f := Field{Kind: FieldObject, Lit: b.literal(m.Key, m.Kind), Col: presence(lv, p), Fields: b.tableFields(lv, p)}
				if p.join != nil && p.t.Has && len(f.Fields) == 0 {
					continue // a joined table without columns is not there
				}
				p.bound.present = p.present
				kids, err := b.inTable(lv, &l.node, m.Table, m.Key, inner, p.bound)
				if err != nil {
					return nil, err
				}
				if f.Fields = extended(f.Fields, kids, b.called(m.Table)); !m.Table.Drop {
					fields = append(fields, f)
				}
				continue
			}
			if a.Hop.IsEdge(m.Table) {
				f, err := b.edgeFields(lv, m)
				if err != nil {
					return nil, err
				}
				if !m.Table.Drop {
					fields = append(fields, f...)
				}
				continue
			}
		}
		f, err := b.child(lv, &l.node, m, inner)
		if err != nil {
			return nil, outside(m.N, err)
		}
		fields = append(fields, f...)
	}
	return fields, nil
}

// inTable binds an array inside a table's object.
func (b *answers) inTable(lv *level, node *plan.Node, t *syntax.Table, key string, sc *Scope, bd *bound) ([]Field, error) {
	if len(t.Members) == 0 {
		return nil, nil
	}
	inner := NewScope(sc, lv)
	inner.main = bd
	sc.things[key].inner = inner
	return b.children(lv, node, t.Members, inner)
}

// unwrap returns the element of a list: the whole item, or the value that the array's key selects.
func (b *answers) unwrap(lv *level, a *syntax.Array, arr *boundArray, inner *Scope, fields []Field) (*Element, error) {
	if a.Target == nil {
		return &Element{Object: -1, Fields: fields}, nil
	}
	var f *Field
	lit := b.literal(a.Target[0], syntax.MemberTable)
	for i := range fields {
		if string(fields[i].Lit) == string(lit) {
			f = &fields[i]
		}
	}
	if f == nil || f.Kind != FieldObject && f.Kind != FieldHidden && f.Kind != FieldRow {
		return &Element{Object: -1}, nil
	}
	arr.main = a.Target[0]
	if f.Kind == FieldHidden {
		return nil, syntax.Unsupported(a.N, "%s is the same for all items", a.Target[0])
	}
	if len(a.Target) == 1 {
		return &Element{Object: f.Col, Fields: f.Fields, Row: f.Kind == FieldRow}, nil
	}
	th := inner.things[a.Target[0]]
	if th == nil || th.table == nil {
		return &Element{Object: -1}, nil
	}
	e := th.table.column(b.Cat, a.Target[1])
	if e == nil || th.table.lv != lv {
		return &Element{Value: true, Col: -1, Object: -1}, nil
	}
	if f.Kind == FieldRow { // a column of a child
		arr.value = lv.Outs.Add(e, a.Target[1])
		return &Element{Value: true, JSON: th.table.t.JSON[a.Target[1]], Col: arr.value, Object: -1}, nil
	}
	// The request needs only the value.
	json := th.table.t.JSON[a.Target[1]]
	if len(a.Members) == 1 && len(a.Members[0].Table.Members) == 0 {
		lv.Outs = outs{}
	}
	arr.value = lv.Outs.Add(e, a.Target[1])
	return &Element{Value: true, JSON: json, Col: arr.value, Object: -1}, nil
}

// children binds the members of an item or a table's object other than its columns.
func (b *answers) children(lv *level, node *plan.Node, members []*syntax.Member, sc *Scope) ([]Field, error) {
	var fields []Field
	for _, m := range members {
		f, err := b.child(lv, node, m, sc)
		if err != nil {
			return nil, outside(m.N, err)
		}
		fields = append(fields, f...)
	}
	return fields, nil
}

// child binds one of these members.
func (b *answers) child(lv *level, node *plan.Node, m *syntax.Member, sc *Scope) ([]Field, error) {
	switch m.Kind {
	case syntax.MemberPlain:
		sc.things[m.Key] = &thing{plain: m.N}
		return []Field{{Kind: FieldText, Lit: b.literal(m.Key, m.Kind), Ord: m.N.Ord}}, nil
	case syntax.MemberRef:
		return b.itemReference(lv, m, sc)
	case syntax.MemberCall:
		return b.itemCall(lv, node, m, sc)
	}
	// A member that is the same for all items is fetched once, before them.
	if !(outward{sc}).member(m) {
		mark := len(b.before)
		f, err := b.once(m, sc)
		if err == nil || !errors.Is(err, errOuter) {
			if err != nil && m.Table != nil && m.Table.Try {
				return nil, nil
			}
			return f, err
		}
		b.forget(mark)
	}
	if m.Kind == syntax.MemberTable {
		return b.childTable(lv, node, m, sc)
	}
	return b.childArray(lv, node, m, sc)
}

// itemReference binds "name@": "path" in an item.
func (b *answers) itemReference(lv *level, m *syntax.Member, sc *Scope) ([]Field, error) {
	t, err := b.resolve(m.Path, sc, lv)
	if err != nil || !t.found() {
		return nil, err
	}
	f := Field{Lit: b.literal(m.Key, m.Kind)}
	switch {
	case t.expr == nil:
		f.Kind, f.Slot = FieldSlot, t.slot
		if t.info {
			f.Page = t.page
		}
	case t.info:
		pg := *t.page
		pg.Info, pg.Total = f.Lit, nil
		pg.Col = lv.Outs.Add(t.value(lv), m.Key)
		f.Kind, f.Page = FieldPage, &pg
	default:
		f.Col = lv.Outs.Add(t.value(lv), m.Key)
	}
	return []Field{f}, nil
}

// once binds a child that refers to nothing of its row: errOuter if it does.
func (b *answers) once(m *syntax.Member, sc *Scope) ([]Field, error) {
	q := func(lv *level, h *hidden) []Field {
		h.Slot = b.texts
		b.texts++
		lv.Query.Hidden = h
		lv.Query.ran = true
		b.before = append(b.before, lv.Query)
		return []Field{{Kind: FieldHidden, Lit: b.literal(m.Key, m.Kind), Col: h.Slot}}
	}
	lv := b.Open()
	if m.Kind == syntax.MemberTable {
		if t := m.Table; t.Drop || t.Must || t.Hop != nil && t.Hop.Start == nil && t.Hop.Ref == "" {
			return nil, errOuter
		}
		s, err := b.selects(lv, nil, m.Table, sc)
		if err != nil {
			return nil, err
		}
		p := s.Parts[0]
		s.Node = firstRow(s.Node)
		fields := b.tableFields(lv, p)
		kids, err := b.inTable(lv, &s.Node, m.Table, m.Key, sc, p.bound)
		if err != nil {
			return nil, err
		}
		p.bound.open = false
		b.Close(lv, s.Node)
		lv.Query.First = true
		return q(lv, &hidden{Fields: extended(fields, kids, b.called(m.Table))}), nil
	}
	a := m.Array
	if a.Hop != nil && a.Hop.Start == nil && a.Hop.Ref == "" || a.Must {
		return nil, errOuter
	}
	l, err := b.list(lv, m, sc)
	if err != nil {
		return nil, err
	}
	b.Close(lv, l.node)
	pg := l.page
	if pg == nil {
		return q(lv, &hidden{Elem: l.elem}), nil
	}
	total, err := b.totals(m, sc, pg)
	if err != nil {
		return nil, err
	}
	total.ran = true
	b.before = append(b.before, total)
	var fields []Field
	if pg.Total != nil {
		fields = append(fields, Field{Kind: FieldSlot, Lit: pg.Total, Slot: pg.Slot}, Field{Kind: FieldSlot, Lit: pg.Info, Slot: pg.Slot, Page: pg})
	}
	if pg.rows {
		fields = append(fields, q(lv, &hidden{Elem: l.elem})...)
	}
	return fields, nil
}

// childTable binds an object that belongs to a row: the first row of its own.
func (b *answers) childTable(lv *level, node *plan.Node, m *syntax.Member, sc *Scope) ([]Field, error) {
	t := m.Table
	sub := lv.below()
	s, err := b.selects(sub, nil, t, sc)
	if err != nil {
		return nil, err
	}
	p := s.Parts[0]
	s.Node = firstRow(s.Node)
	fields := b.tableFields(sub, p)
	kids, err := b.inTable(sub, &s.Node, t, m.Key, sc, p.bound)
	if err != nil {
		return nil, err
	}
	p.bound.open = false
	fields = extended(fields, kids, b.called(t))
	// The row is a list of one list of the child's columns, or an empty list.
	out := lv.col(t.Key, graph.List)
	first := Op(plan.Index, &plan.ColRef{Col: out}, IntConst(0))
	b.keep(p.bound, sub, lv, first)
	row := &plan.ListLit{Elems: sub.Outs.exprs}
	if len(row.Elems) == 0 {
		row.Elems = []plan.Expr{BoolConst(true)}
	}
	*node = &plan.Apply{Input: *node, Sub: s.Node, Kind: plan.Collect, Out: out, Expr: row}
	if t.Drop {
		return nil, nil
	}
	return []Field{{Kind: FieldRow, Lit: b.literal(m.Key, m.Kind), Col: lv.Outs.Add(&plan.ColRef{Col: out}, m.Key), Fields: fields}}, nil
}

// keep exposes the columns of a child to references at the level above, as elements of its row.
func (b *answers) keep(bd *bound, sub, lv *level, row plan.Expr) {
	at := func(e plan.Expr, name string) plan.Expr {
		return Op(plan.Index, row, IntConst(int64(sub.Outs.Add(e, name))))
	}
	cols := make(map[string]plan.Expr)
	for name, e := range bd.cols {
		cols[name] = at(e, name)
	}
	if bd.star {
		for _, name := range b.Cat.AllProps() {
			if e, ok := bd.src.property(b.Cat, name); ok && !bd.none[name] && cols[name] == nil && sub.Outs.has(e) {
				cols[name] = at(e, name)
			}
		}
		if bd.src.Vertex != 0 {
			src := *bd.src
			bd.src = &src
			bd.row = at(&plan.ColRef{Col: src.Vertex}, bd.t.Key)
		}
	}
	bd.cols, bd.lv = cols, lv
}

// childArray binds an array that belongs to a row.
func (b *answers) childArray(lv *level, node *plan.Node, m *syntax.Member, sc *Scope) ([]Field, error) {
	sub := lv.below()
	l, err := b.list(sub, m, sc)
	if err != nil {
		return nil, err
	}
	var fields []Field
	if l.page != nil {
		f, err := b.childTotal(lv, node, m, sc, l.page)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f...)
		if !l.page.rows {
			return fields, nil
		}
	}
	var item plan.Expr = &plan.ListLit{Elems: sub.Outs.exprs}
	if l.elem.Value && l.elem.Col >= 0 && len(sub.Outs.exprs) == 1 {
		item = sub.Outs.exprs[0]
		l.elem.Col = -2 // the element is the value
	} else if len(sub.Outs.exprs) == 0 {
		item = &plan.ListLit{Elems: []plan.Expr{BoolConst(true)}}
	}
	out := lv.col(m.Key, 0)
	*node = &plan.Apply{Input: *node, Sub: l.node, Kind: plan.Collect, Out: out, Expr: item}
	f := Field{Kind: FieldList, Lit: b.literal(m.Key, m.Kind), Col: lv.Outs.Add(&plan.ColRef{Col: out}, m.Key), Elem: l.elem}
	return append(fields, f), nil
}

// childTotal binds the total of an array in an item.
func (b *answers) childTotal(lv *level, node *plan.Node, m *syntax.Member, sc *Scope, pg *Paging) ([]Field, error) {
	sub := lv.below()
	inner := NewScope(sc, sub)
	s, err := b.counted(sub, m.Array, m.Array.Main(), inner)
	if err != nil {
		return nil, err
	}
	arr := sc.things[m.Key].array
	if s.Never { // a reference finds nothing
		arr.page = nil
		return nil, nil
	}
	out := lv.col("total", 0)
	list := &plan.Apply{Input: *node, Sub: s.Node, Kind: plan.Collect, Out: out, Expr: s.count}
	*node = list
	total := Op(plan.Index, &plan.ColRef{Col: out}, IntConst(0))
	var found []plan.Expr
	for _, t := range sub.refs {
		if t.lv == sub {
			continue
		}
		found = append(found, Op(plan.IsNotNull, t.value(lv)))
	}
	if len(found) > 0 { // rows dropped by a reference without a value have no total
		total = &plan.Case{When: []plan.Expr{and(found...)}, Then: []plan.Expr{total}}
	}
	arr.total, arr.lv = total, sub
	pg.Col = lv.Outs.Add(total, "total")
	return []Field{{Kind: FieldPage, Page: pg, Col: pg.Col}}, nil
}

// musts binds the conditions that children with "must" impose on their parent's rows.
func (b *Binder) musts(lv *level, a *syntax.Array, t *syntax.Table, sc *Scope) ([]plan.Expr, error) {
	var preds []plan.Expr
	members := t.Members
	if a != nil {
		members = append(slices.Clip(members), a.Members...)
	}
	for _, m := range members {
		var s *Selection
		var err error
		sub := lv.below()
		switch {
		case m.Kind == syntax.MemberArray && m.Array.Must:
			inner := NewScope(sc, sub)
			s, err = b.Rows(sub, m.Array, m.Array.Main(), inner)
		case m.Kind == syntax.MemberTable && m.Table != t && m.Table.Must:
			inner := NewScope(sc, sub)
			s, err = b.Rows(sub, nil, m.Table, inner)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.Never {
			preds = append(preds, BoolConst(false))
			continue
		}
		preds = append(preds, &plan.Subquery{Kind: plan.Exists, Sub: unordered(s.Node)})
	}
	return preds, nil
}
