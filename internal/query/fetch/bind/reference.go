package bind

import (
	"errors"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// errOuter reports that an expression refers to a row above where only a constant is allowed.
var errOuter = errors.New("refers to a row above")

// target is the result of resolving a reference: an expression over the rows of a level, or a parameter. Neither: nothing.
type target struct {
	expr plan.Expr
	lv   *level
	slot string
	page *Paging // with info: the whole of it
	info bool
	// plain is the request's value that the slot is built from, or nil.
	plain *syntax.Node
}

func (t target) found() bool { return t.expr != nil || t.slot != "" }

// resolve follows the path of a reference in a scope at a level; both may belong to the referring object.
func (b *predicates) resolve(path string, sc *Scope, lv *level) (target, error) {
	if rest, ok := strings.CutPrefix(path, "/"); ok {
		parts := strings.Split(rest, "/")
		t, err := b.walk(parts, sc, sc, lv)
		if err == nil && !t.found() && sc.parent != nil && sc.lv == nil {
			t, err = b.walk(parts, sc.parent, sc, lv)
		}
		return t, err
	}
	return b.walk(strings.Split(path, "/"), sc.root(), sc, lv)
}

// walk goes down from at.
func (b *predicates) walk(parts []string, at, from *Scope, lv *level) (target, error) {
	for i, part := range parts {
		rest := parts[i+1:]
		th := at.things[part]
		if th == nil {
			return target{}, nil
		}
		switch {
		case th.array != nil:
			if th.inner != nil && th.inner.holds(from) && len(rest) > 0 {
				at = th.inner
				continue
			}
			return b.ofArray(th, rest, lv)
		case th.table != nil:
			if th.inner != nil && len(rest) > 1 {
				at = th.inner
				continue
			}
			if len(rest) != 1 {
				return target{}, nil
			}
			return b.ofTable(th.table, rest[0], lv)
		case th.inner != nil:
			at = th.inner
			continue
		case len(rest) > 0:
			if th.plain == nil {
				return target{}, nil
			}
			n := th.plain
			for _, key := range rest {
				if n = n.Get(key); n == nil {
					return target{}, nil
				}
			}
			return b.ofPlain(n), nil
		case th.plain != nil:
			return b.ofPlain(th.plain), nil
		case th.slot != "":
			return target{slot: th.slot}, nil
		default:
			return target{}, nil
		}
	}
	return target{}, nil
}

func (b *predicates) ofPlain(n *syntax.Node) target {
	switch n.Kind {
	case syntax.JSONNull, syntax.JSONObject:
		return target{}
	case syntax.JSONList:
		return target{slot: b.lift(n, Param{Kind: ParamList, Elem: -1}).Name, plain: n}
	}
	return target{slot: b.lift(n, Param{Elem: -1}).Name, plain: n}
}

// ofTable finds a column of a table.
func (b *predicates) ofTable(t *bound, name string, lv *level) (target, error) {
	if t.never || t.cols == nil && lv == t.lv {
		return target{}, nil
	}
	e := t.column(b.Cat, name)
	if e == nil {
		return target{}, nil
	}
	if lv.within(t.lv) {
		return target{expr: e, lv: t.lv}, nil
	}
	if t.open || t.lv.parent != nil || t.lv.Query.isOpen {
		return target{}, errOuter
	}
	return target{slot: b.capture(t.lv, TakeFirst, e, name, 0)}, nil
}

// ofArray resolves a reference from outside to a member of an array.
func (b *predicates) ofArray(th *thing, rest []string, lv *level) (target, error) {
	a := th.array
	if len(rest) == 1 && (rest[0] == "total" || rest[0] == "info") {
		switch {
		case a.page == nil:
			return target{}, nil
		case a.total != nil:
			if !lv.within(a.lv.parent) {
				return target{}, errOuter
			}
			return target{expr: a.total, lv: a.lv.parent, page: a.page, info: rest[0] == "info"}, nil
		}
		return target{slot: a.page.Slot, page: a.page, info: rest[0] == "info"}, nil
	}
	if a.query == nil {
		return target{}, nil
	}
	if a.query.isOpen {
		return target{}, errOuter
	}
	if len(rest) == 0 {
		if a.value < 0 {
			return target{}, nil
		}
		return target{slot: b.capture(a.lv, TakeList, a.lv.Outs.exprs[a.value], "", 0)}, nil
	}
	row, err := strconv.Atoi(rest[0])
	if err != nil || row < 0 {
		return target{}, nil //nolint:nilerr // a value that is no row number refers to nothing
	}
	key, rest := a.main, rest[1:]
	if a.value >= 0 && len(rest) == 0 {
		return target{slot: b.capture(a.lv, TakeRow, a.lv.Outs.exprs[a.value], "", row)}, nil
	}
	if key == "" && len(rest) > 0 {
		key, rest = rest[0], rest[1:]
	}
	inner := th.inner.things[key]
	if len(rest) != 1 || inner == nil || inner.table == nil || inner.table.lv != a.lv {
		return target{}, nil
	}
	e := inner.table.column(b.Cat, rest[0])
	if e == nil {
		return target{}, nil
	}
	return target{slot: b.capture(a.lv, TakeRow, e, rest[0], row)}, nil
}

// capture makes a parameter of a column of a whole query's rows.
func (b *levels) capture(lv *level, k takeKind, e plan.Expr, name string, row int) string {
	q := lv.Query
	col := b.column(lv, e, name)
	for _, t := range q.Takes {
		if t.Kind == k && t.Col == col && t.Row == row {
			return t.Slot
		}
	}
	slot := b.slot()
	q.Takes = append(q.Takes, Take{Kind: k, Col: col, Row: row, Slot: slot})
	return slot
}

// column adds a column to a whole query's rows, though it be finished already.
func (b *levels) column(lv *level, e plan.Expr, name string) int {
	col := lv.Outs.Add(e, name)
	if q := lv.Query; q.proj != nil {
		b.project(lv)
	}
	return col
}

// value returns the target of a reference as an expression at a level.
func (t target) value(lv *level) plan.Expr {
	if t.expr != nil {
		lv.use(t.expr, t.lv)
		return t.expr
	}
	return &plan.Param{Name: t.slot}
}
