package plan

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

func (f *formatter) expr(e Expr) string {
	switch e := e.(type) {
	case nil:
		return ""
	case *Const:
		return literal(e.Value)
	case *Param:
		return "$" + e.Name
	case *ColRef:
		return f.col(e.Col)
	case *Prop:
		return f.group(e.X) + "." + e.Key
	case *Op:
		return f.op(e)
	case *Call:
		return e.Func + "(" + f.exprs(e.Args, ", ") + ")"
	case *Case:
		s := "CASE"
		for i := range e.When {
			s += " WHEN " + f.expr(e.When[i]) + " THEN " + f.expr(e.Then[i])
		}
		if e.Else != nil {
			s += " ELSE " + f.expr(e.Else)
		}
		return s + " END"
	case *ListLit:
		return "[" + f.exprs(e.Elems, ", ") + "]"
	case *MapLit:
		return "{" + f.entries(e.Keys, e.Elems) + "}"
	case *MapProject:
		s := f.entries(e.Keys, e.Elems)
		if e.All {
			s = strings.TrimSuffix(".*, "+s, ", ")
		}
		return f.expr(e.X) + " {" + s + "}"
	case *Comprehension:
		s := "[" + f.col(e.Var) + " IN " + f.expr(e.List)
		if e.Where != nil {
			s += " WHERE " + f.expr(e.Where)
		}
		if e.Map != nil {
			s += " | " + f.expr(e.Map)
		}
		return s + "]"
	case *Quantifier:
		return e.Kind + "(" + f.col(e.Var) + " IN " + f.expr(e.List) + " WHERE " + f.expr(e.Pred) + ")"
	case *Reduce:
		return "reduce(" + f.col(e.Acc) + " = " + f.expr(e.Init) + ", " + f.col(e.Var) + " IN " + f.expr(e.List) + " | " + f.expr(e.Body) + ")"
	case *HasLabels:
		return f.group(e.X) + ":" + e.Labels.String()
	case *HasEdge:
		return "(" + f.expr(e.From) + ")" + f.edge(0, e.Types, "", e.Dir) + "(" + f.expr(e.To) + ")"
	case *Subquery:
		names := map[ApplyKind]string{Exists: "EXISTS", CountRows: "COUNT", Collect: "COLLECT"}
		return names[e.Kind] + " {" + f.expr(e.Expr) + "}"
	case *MakePath:
		return "path(" + f.cols(e.Cols) + ")"
	case *IsType:
		if e.Not {
			return f.group(e.X) + " IS NOT :: " + e.Type
		}
		return f.group(e.X) + " IS :: " + e.Type
	}
	return "?"
}

func (f *formatter) entries(keys []string, elems []Expr) string {
	parts := make([]string, len(keys))
	for i := range keys {
		parts[i] = keys[i] + ": " + f.expr(elems[i])
	}
	return strings.Join(parts, ", ")
}

func (f *formatter) group(e Expr) string {
	switch e.(type) {
	case *Op, *Case, *HasLabels, *IsType:
		return "(" + f.expr(e) + ")"
	}
	return f.expr(e)
}

func (f *formatter) op(e *Op) string {
	parts := make([]string, len(e.Args))
	for i, a := range e.Args {
		if a != nil {
			parts[i] = f.group(a)
		}
	}
	switch e.Op {
	case Not:
		return "NOT " + parts[0]
	case Neg:
		return "-" + parts[0]
	case Pos:
		return "+" + parts[0]
	case IsNull, IsNotNull:
		return parts[0] + " " + e.Op.String()
	case Index:
		return parts[0] + "[" + parts[1] + "]"
	case SliceOp:
		return parts[0] + "[" + parts[1] + ".." + parts[2] + "]"
	}
	return strings.Join(parts, " "+e.Op.String()+" ")
}

// literal writes the values that can be literals of a statement.
func literal(v graph.Value) string {
	switch v.Kind() {
	case graph.Null:
		return "null"
	case graph.Bool:
		return strconv.FormatBool(v.Bool())
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.Float:
		s := strconv.FormatFloat(v.Float(), 'g', -1, 64)
		if !strings.ContainsAny(s, ".eNI") {
			s += ".0"
		}
		return s
	case graph.String:
		return strconv.Quote(v.Str())
	case graph.List:
		parts := make([]string, 0, len(v.List()))
		for _, x := range v.List() {
			parts = append(parts, literal(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case graph.Map:
		parts := make([]string, 0, len(v.Map()))
		for _, x := range v.Map() {
			parts = append(parts, x.Key+": "+literal(x.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.Kind().String()
}
