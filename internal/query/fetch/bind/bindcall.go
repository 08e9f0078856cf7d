package bind

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// callProc is the procedure that calls a trusted operation as a function.
const callProc = "db.operations.call"

// calls adds a remote function to the rows of a level, and returns the column of its result.
func (b *answers) calls(lv *level, node *plan.Node, m *syntax.Member, sc *Scope) (plan.Expr, error) {
	args := &plan.ListLit{}
	for _, a := range m.Call.Args {
		e, err := b.argument(lv, m, a, sc)
		if err != nil {
			return nil, err
		}
		args.Elems = append(args.Elems, e)
	}
	when := BoolConst(true)
	if bd := sc.main; bd != nil && bd.lv == lv && bd.present != nil {
		when = trueOrNull(bd.present)
	}
	col := lv.col(m.Key, graph.Null)
	*node = &plan.CallProc{
		Input: *node, Proc: callProc, Args: []plan.Expr{textConst(m.Call.Name), args, textConst(m.N.Path()), when},
		Yield: []plan.Yield{{Name: "value", Col: col}},
	}
	return &plan.ColRef{Col: col}, nil
}

// argument binds an argument of a function.
func (b *answers) argument(lv *level, m *syntax.Member, a syntax.FunctionArg, sc *Scope) (plan.Expr, error) {
	if a.Path == "" {
		return &plan.Const{Value: a.Literal}, nil
	}
	if m.Call.Early {
		n := m.N.Parent
		for key := range strings.SplitSeq(a.Path, "/") {
			if n = n.Get(key); n == nil {
				return nil, syntax.NotFound(m.N, "the request has no value %q here", a.Path)
			}
		}
		if t := b.ofPlain(n); t.found() {
			return t.value(lv), nil
		}
		return nil, syntax.Illegal(m.N, "%q is an object, no value", a.Path)
	}
	if bd := sc.main; bd != nil {
		if e := bd.column(b.Cat, a.Path); e != nil {
			lv.use(e, bd.lv)
			return e, nil
		}
		if bd.src.denied[a.Path] {
			return nil, syntax.Fail(syntax.CodeNoRight, m.N, "there is no right to read %q", a.Path)
		}
	}
	path := a.Path
	if th := sc.things[strings.SplitN(path, "/", 2)[0]]; th != nil && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	t, err := b.resolve(path, sc, lv)
	if err != nil {
		return nil, outside(m.N, err)
	}
	if !t.found() || t.info {
		return nil, syntax.NotFound(m.N, "the object has no key %q before the function", a.Path)
	}
	return t.value(lv), nil
}

// itemCall binds a function of an item or a table's object.
func (b *answers) itemCall(lv *level, node *plan.Node, m *syntax.Member, sc *Scope) ([]Field, error) {
	e, err := b.calls(lv, node, m, sc)
	if err != nil {
		return nil, err
	}
	if bd := sc.main; bd != nil && bd.cols != nil {
		bd.cols[m.Key] = e
	}
	return []Field{{Lit: b.literal(m.Key, syntax.MemberPlain), Col: lv.Outs.Add(e, m.Key)}}, nil
}

// objectCall binds a function of the root or of a plain object as a query of its own.
func (b *answers) objectCall(m *syntax.Member, sc *Scope) (*Output, error) {
	lv := b.Open()
	node := lv.leaf()
	e, err := b.calls(lv, &node, m, sc)
	if err != nil {
		return nil, err
	}
	b.Close(lv, node)
	lv.Query.First = true
	slot := b.capture(lv, TakeFirst, e, m.Key, 0)
	sc.things[m.Key] = &thing{slot: slot}
	return &Output{Kind: OutSlot, Lit: b.literal(m.Key, syntax.MemberPlain), Slot: slot, Before: []*Query{lv.Query}}, nil
}

// extended adds members to those of an object. Each replaces an earlier one of its key.
func extended(fields, more []Field, keys map[string]string) []Field {
	if len(keys) == 0 {
		return append(fields, more...)
	}
	out := make([]Field, 0, len(fields)+len(more))
	for _, f := range fields {
		if _, replaced := keys[string(f.Lit)]; replaced {
			continue
		}
		if f.Kind == FieldRecord {
			but := make(map[string]bool, len(f.Except)+len(keys))
			for name := range f.Except {
				but[name] = true
			}
			for _, name := range keys {
				but[name] = true
			}
			f.Except = but
		}
		out = append(out, f)
	}
	return append(out, more...)
}

// called are the keys of a table's functions, by how they are written.
func (b *answers) called(t *syntax.Table) map[string]string {
	var keys map[string]string
	for _, m := range t.Members {
		if m.Kind == syntax.MemberCall {
			if keys == nil {
				keys = map[string]string{}
			}
			keys[string(b.literal(m.Key, syntax.MemberPlain))] = m.Key
		}
	}
	return keys
}
