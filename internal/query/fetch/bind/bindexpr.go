package bind

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// names resolves the names in an expression.
type names struct {
	b     *predicates
	lv    *level
	src   *source
	at    *syntax.Node         // to blame
	alias map[string]plan.Expr // columns of the answer that @order and @having may name
	aggs  *aggregation         // nil where aggregates are not allowed
	group bool                 // rows are groups: names are keys or any value of the group
}

// Op returns an operation.
func Op(code plan.OpCode, args ...plan.Expr) plan.Expr { return &plan.Op{Op: code, Args: args} }

func call(name string, args ...plan.Expr) plan.Expr { return &plan.Call{Func: name, Args: args} }

func and(preds ...plan.Expr) plan.Expr { return nary(plan.And, preds) }

func or(preds ...plan.Expr) plan.Expr { return nary(plan.Or, preds) }

func nary(code plan.OpCode, preds []plan.Expr) plan.Expr {
	if len(preds) == 1 {
		return preds[0]
	}
	return Op(code, preds...)
}

func textConst(s string) plan.Expr { return &plan.Const{Value: graph.StringValue(s)} }

// BoolConst returns a constant.
func BoolConst(v bool) plan.Expr { return &plan.Const{Value: graph.BoolValue(v)} }

// expr binds an expression.
func (x *names) expr(e syntax.Expr) (plan.Expr, error) {
	x.b.step()
	switch e := e.(type) {
	case *syntax.NameExpr:
		return x.name(e)
	case *syntax.ConstExpr:
		return &plan.Const{Value: e.V}, nil
	case *syntax.NullExpr:
		a, err := x.expr(e.A)
		if err != nil {
			return nil, err
		}
		if e.Not {
			return Op(plan.IsNotNull, a), nil
		}
		return Op(plan.IsNull, a), nil
	case *syntax.BinaryExpr:
		return x.binary(e)
	}
	return x.call(e.(*syntax.CallExpr))
}

// test binds an expression as a condition. One that is no comparison holds if it is neither 0 nor null.
func (x *names) test(e syntax.Expr) (plan.Expr, error) {
	p, err := x.expr(e)
	if err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case *syntax.NullExpr:
		return p, nil
	case *syntax.BinaryExpr:
		if syntax.IsComparison(e.Op) {
			return p, nil
		}
	}
	return call("sql.truth", p), nil
}

func (x *names) name(e *syntax.NameExpr) (plan.Expr, error) {
	if p, ok := x.alias[e.Name]; ok {
		return p, nil
	}
	p, err := x.plain(e)
	if err != nil || !x.group {
		return p, err
	}
	return x.aggs.of(x.src.t, e.Name, p), nil
}

// plain binds a name to a property or a column of the table itself.
func (x *names) plain(e *syntax.NameExpr) (plan.Expr, error) {
	if def, ok := x.src.t.Keys[e.Name]; ok {
		inner := *x
		inner.group, inner.aggs, inner.alias = false, nil, nil
		src := *x.src
		t := *x.src.t
		t.Keys, src.t = nil, &t
		inner.src = &src
		return inner.expr(def)
	}
	p, ok := x.src.property(x.b.Cat, e.Name)
	if !ok && x.src.denied[e.Name] {
		return nil, syntax.Fail(syntax.CodeNoRight, x.at, "there is no right to read %q", e.Name)
	}
	if !ok {
		return nil, syntax.NotFound(x.at, "there is no property %q", e.Name)
	}
	return p, nil
}

var binaryOps = map[string]plan.OpCode{
	"=": plan.Eq, "!=": plan.Ne, "<": plan.Lt, "<=": plan.Le, ">": plan.Gt, ">=": plan.Ge,
}

var arithmetic = map[string]string{"+": "sql.plus", "-": "sql.minus", "*": "sql.multiply", "/": "sql.divide", "%": "sql.modulo"}

func (x *names) binary(e *syntax.BinaryExpr) (plan.Expr, error) {
	a, err := x.expr(e.A)
	if err != nil {
		return nil, err
	}
	c, err := x.expr(e.B)
	if err != nil {
		return nil, err
	}
	if f, ok := arithmetic[e.Op]; ok {
		return call(f, a, c), nil
	}
	if lit, ok := c.(*plan.Const); ok && lit.Value.Kind() == graph.String {
		if n := syntax.Numeric(lit.Value.Str()); !n.IsNull() {
			return coerced(binaryOps[e.Op], a, &plan.Const{Value: n}, c), nil
		}
	}
	return Op(binaryOps[e.Op], a, c), nil
}

// coerced compares with a text that means a number: as a number with numbers, else as a text.
func coerced(code plan.OpCode, a, number, text plan.Expr) plan.Expr {
	switch code {
	case plan.Eq:
		return Op(plan.In, a, &plan.ListLit{Elems: []plan.Expr{number, text}})
	case plan.Ne:
		return Op(plan.Not, Op(plan.In, a, &plan.ListLit{Elems: []plan.Expr{number, text}}))
	}
	return call("coalesce", Op(code, a, number), Op(code, a, text))
}

// function maps a function of SQL to its implementation.
type function struct {
	fn       string
	min, max int // arguments
}

// functions are the functions of @column and its like by their names in lower case.
var functions = map[string]function{}

func init() {
	for _, f := range []struct {
		names string
		fn    string
		min   int
		max   int
	}{
		{"length octet_length datalength len", "sql.length", 1, 1},
		{"char_length character_length", "sql.char_length", 1, 1},
		{"upper ucase", "sql.upper", 1, 1},
		{"lower lcase", "sql.lower", 1, 1},
		{"trim", "sql.trim", 1, 1},
		{"ltrim", "sql.ltrim", 1, 1},
		{"rtrim", "sql.rtrim", 1, 1},
		{"concat", "sql.concat", 1, -1},
		{"concat_ws", "sql.concat_ws", 2, -1},
		{"left", "sql.left", 2, 2},
		{"right", "sql.right", 2, 2},
		{"substring substr mid", "sql.substring", 2, 3},
		{"substring_index", "sql.substring_index", 3, 3},
		{"replace", "sql.replace", 3, 3},
		{"reverse", "sql.reverse", 1, 1},
		{"repeat", "sql.repeat", 2, 2},
		{"space", "sql.space", 1, 1},
		{"lpad", "sql.lpad", 3, 3},
		{"rpad", "sql.rpad", 3, 3},
		{"locate position", "sql.locate", 2, 3},
		{"instr", "sql.instr", 2, 2},
		{"strcmp", "sql.strcmp", 2, 2},
		{"field", "sql.field", 2, -1},
		{"find_in_set", "sql.find_in_set", 2, 2},
		{"ascii", "sql.ascii", 1, 1},
		{"abs", "sql.abs", 1, 1},
		{"sign", "sql.sign", 1, 1},
		{"round", "sql.round", 1, 2},
		{"truncate", "sql.truncate", 2, 2},
		{"ceil ceiling", "sql.ceil", 1, 1},
		{"floor", "sql.floor", 1, 1},
		{"sqrt", "sql.sqrt", 1, 1},
		{"exp", "sql.exp", 1, 1},
		{"ln", "sql.ln", 1, 1},
		{"log", "sql.log", 1, 2},
		{"log2", "sql.log2", 1, 1},
		{"log10", "sql.log10", 1, 1},
		{"pow power", "sql.pow", 2, 2},
		{"mod", "sql.modulo", 2, 2},
		{"div", "sql.div", 2, 2},
		{"pi", "sql.pi", 0, 0},
		{"sin", "sql.sin", 1, 1},
		{"cos", "sql.cos", 1, 1},
		{"tan", "sql.tan", 1, 1},
		{"asin", "sql.asin", 1, 1},
		{"acos", "sql.acos", 1, 1},
		{"atan", "sql.atan", 1, 1},
		{"atan2", "sql.atan2", 2, 2},
		{"cot", "sql.cot", 1, 1},
		{"degrees", "sql.degrees", 1, 1},
		{"radians", "sql.radians", 1, 1},
		{"rand", "rand", 0, 0},
		{"greatest", "sql.greatest", 2, -1},
		{"least", "sql.least", 2, -1},
		{"if", "sql.if", 3, 3},
		{"ifnull", "coalesce", 2, 2},
		{"coalesce", "coalesce", 1, -1},
		{"nullif", "sql.nullif", 2, 2},
		{"isnull", "sql.isnull", 1, 1},
		{"json_length json_array_length json_size", "sql.json_length", 1, 1},
		{"json_contains json_array_contains", "sql.json_contains", 2, 2},
		{"json_extract", "sql.json_extract", 2, 2},
		{"json_array_get", "sql.json_array_get", 2, 2},
		{"json_valid", "sql.json_valid", 1, 1},
		{"json_overlaps", "sql.json_overlaps", 2, 2},
		{"json_type", "sql.json_type", 1, 1},
		{"date_format time_format", "sql.date_format", 2, 2},
		{"date", "sql.date", 1, 1},
		{"time", "sql.time", 1, 1},
		{"year", "sql.year", 1, 1},
		{"month", "sql.month", 1, 1},
		{"day dayofmonth", "sql.day", 1, 1},
		{"hour", "sql.hour", 1, 1},
		{"minute", "sql.minute", 1, 1},
		{"second", "sql.second", 1, 1},
		{"quarter", "sql.quarter", 1, 1},
		{"week", "sql.week", 1, 1},
		{"dayofweek", "sql.dayofweek", 1, 1},
		{"weekday", "sql.weekday", 1, 1},
		{"dayofyear", "sql.dayofyear", 1, 1},
		{"weekofyear", "sql.weekofyear", 1, 1},
		{"dayname", "sql.dayname", 1, 1},
		{"monthname", "sql.monthname", 1, 1},
		{"last_day", "sql.last_day", 1, 1},
		{"to_days", "sql.to_days", 1, 1},
		{"datediff", "sql.datediff", 2, 2},
		{"unix_timestamp", "sql.unix_timestamp", 0, 1},
		{"from_unixtime", "sql.from_unixtime", 1, 1},
		{"now current_timestamp localtime localtimestamp sysdate", "sql.now", 0, 0},
		{"curdate current_date", "sql.curdate", 0, 0},
		{"curtime current_time", "sql.curtime", 0, 0},
	} {
		for name := range strings.FieldsSeq(f.names) {
			functions[name] = function{f.fn, f.min, f.max}
		}
	}
}

// call binds a function or an aggregate.
func (x *names) call(e *syntax.CallExpr) (plan.Expr, error) {
	if e.Fn == "degree" {
		return x.degree(e)
	}
	if syntax.IsAggregate(e.Fn) {
		if x.aggs == nil {
			return nil, syntax.Illegal(x.at, "the aggregate %s cannot stand here", e.Src)
		}
		return x.aggregate(e)
	}
	f, ok := functions[e.Fn]
	if !ok {
		return nil, syntax.Illegal(x.at, "there is no function %s", e.Fn)
	}
	if len(e.Args) < f.min || f.max >= 0 && len(e.Args) > f.max {
		return nil, syntax.Illegal(x.at, "%s has a wrong number of arguments", e.Src)
	}
	if e.Distinct {
		return nil, syntax.Illegal(x.at, "DISTINCT is only for aggregates, not for %s", e.Fn)
	}
	args := make([]plan.Expr, len(e.Args))
	for i, a := range e.Args {
		p, err := x.expr(a)
		if err != nil {
			return nil, err
		}
		args[i] = p
	}
	if _, ok := fn.Lookup(f.fn); !ok {
		return nil, syntax.Unsupported(x.at, "function %s is not supported", e.Fn)
	}
	return call(f.fn, args...), nil
}

// degree counts edges: degree(>KNOWS).
func (x *names) degree(e *syntax.CallExpr) (plan.Expr, error) {
	steps, reason := syntax.ParseSteps(e.Raw)
	if reason != "" || len(steps) != 1 {
		return nil, syntax.Illegal(x.at, "%s must be like degree(>KNOWS)", e.Src)
	}
	if x.src.Vertex == 0 || x.src.edge {
		return nil, syntax.Illegal(x.at, "%s needs rows that are vertices", e.Src)
	}
	if err := x.b.checkTypes(x.at, steps); err != nil {
		return nil, err
	}
	q := x.lv.Query.Q
	sub := &plan.Expand{
		Input: &plan.Argument{Cols: []plan.Col{x.src.Vertex}}, From: x.src.Vertex, To: q.NewCol("", graph.VertexKind),
		Types: steps[0].Types, Dir: steps[0].Direction(),
	}
	return &plan.Subquery{Kind: plan.CountRows, Sub: sub}, nil
}

// checkTypes refuses edge types that the graph does not know.
func (b *levels) checkTypes(at *syntax.Node, steps []syntax.Step) error {
	for _, s := range steps {
		for _, typ := range s.Types {
			if _, ok := b.Cat.Type(typ); !ok {
				return syntax.NotFound(at, "there is no edge type %q", typ)
			}
			if _, err := b.Req.Rights.Check(at, nil, true, typ); err != nil {
				return err
			}
		}
	}
	return nil
}

// aggregation collects the keys and the aggregates of a table's groups.
type aggregation struct {
	lv   *level
	keys []plan.Item
	aggs []plan.Agg
	done map[string]plan.Expr // an expression that yields one
	base map[string]plan.Expr // group keys by their text
}

func newAggregation(lv *level) *aggregation {
	return &aggregation{lv: lv, done: make(map[string]plan.Expr), base: make(map[string]plan.Expr)}
}

// group adds a key, an expression over a table.
func (a *aggregation) group(t *syntax.Table, text string, e plan.Expr) {
	text = t.Key + "." + text
	if a.base[text] == nil {
		col := a.lv.col(text, graph.Null)
		a.keys = append(a.keys, plan.Item{Col: col, Expr: e})
		a.base[text] = &plan.ColRef{Col: col}
	}
}

// of returns the value of a name of a table for a group: the key, or any value.
func (a *aggregation) of(t *syntax.Table, text string, e plan.Expr) plan.Expr {
	text = t.Key + "." + text
	if k, ok := a.base[text]; ok {
		return k
	}
	all := a.add("collect", false, text+"*", e)
	return Op(plan.Index, all, IntConst(0))
}

// add creates an aggregate, once for each text.
func (a *aggregation) add(f string, distinct bool, text string, args ...plan.Expr) plan.Expr {
	id := f + " " + text
	if distinct {
		id = f + " distinct " + text
	}
	if e, ok := a.done[id]; ok {
		return e
	}
	col := a.lv.col(f, graph.Null)
	a.aggs = append(a.aggs, plan.Agg{Col: col, Func: f, Distinct: distinct, Args: args})
	e := &plan.ColRef{Col: col}
	a.done[id] = e
	return e
}

func (x *names) aggregate(e *syntax.CallExpr) (plan.Expr, error) {
	if e.Star {
		return x.aggs.add("count", false, "*"), nil
	}
	if len(e.Args) == 0 || len(e.Args) > 1 && !(e.Distinct && e.Fn == "count") && e.Fn != "group_concat" {
		return nil, syntax.Illegal(x.at, "%s has a wrong number of arguments", e.Src)
	}
	inner := *x
	inner.aggs, inner.group, inner.alias = nil, false, nil
	var arg plan.Expr
	text := ""
	for i, a := range e.Args {
		p, err := inner.expr(a)
		if err != nil {
			return nil, err
		}
		if text += x.src.t.Key + "." + a.Text(); i == 0 {
			arg = p
			continue
		}
		if e.Fn == "group_concat" {
			arg = call("sql.concat", arg, p)
			continue
		}
		// count(DISTINCT a,b) counts the combinations without a null.
		arg = &plan.Case{When: []plan.Expr{and(Op(plan.IsNotNull, arg), Op(plan.IsNotNull, p))}, Then: []plan.Expr{&plan.ListLit{Elems: []plan.Expr{arg, p}}}}
	}
	number := call("sql.number", arg)
	switch e.Fn {
	case "count", "max", "min":
		return x.aggs.add(e.Fn, e.Distinct, text, arg), nil
	case "sum":
		count := x.aggs.add("count", e.Distinct, "number "+text, number)
		sum := x.aggs.add("sum", e.Distinct, text, number)
		return &plan.Case{When: []plan.Expr{Op(plan.Gt, count, IntConst(0))}, Then: []plan.Expr{sum}}, nil
	case "avg":
		count := x.aggs.add("count", e.Distinct, "number "+text, number)
		sum := x.aggs.add("sum", e.Distinct, text, number)
		return call("sql.average", sum, count), nil
	case "std", "stddev", "stddev_pop":
		return x.aggs.add("stdevp", e.Distinct, text, number), nil
	case "stddev_samp":
		return x.aggs.add("stdev", e.Distinct, text, number), nil
	case "group_concat":
		list := x.aggs.add("collect", e.Distinct, text, arg)
		if e.Distinct { // as MySQL has them: in their order
			list = call("coll.sort", list)
		}
		return call("sql.join", list), nil
	case "json_arrayagg":
		return x.aggs.add("collect", e.Distinct, text, arg), nil
	}
	return Op(plan.Index, x.aggs.add("collect", false, text, arg), IntConst(0)), nil
}
