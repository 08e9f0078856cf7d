package rules

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Op is an operator of a condition.
type Op string

// The operators. And, Or and Not have conditions as operands; the others a property and, but for the last two, an operand.
const (
	And       Op = "AND"
	Or        Op = "OR"
	Not       Op = "NOT"
	Equal     Op = "="
	Unequal   Op = "<>"
	Less      Op = "<"
	LessEqual Op = "<="
	More      Op = ">"
	MoreEqual Op = ">="
	In        Op = "IN"
	IsNull    Op = "IS NULL"
	IsNotNull Op = "IS NOT NULL"
)

// Condition is a predicate over the properties of one element, in openCypher's three-valued logic.
type Condition struct {
	Op   Op           `json:"op"`
	Of   []*Condition `json:"of,omitempty"`
	Prop string       `json:"prop,omitempty"`
	With *Operand     `json:"with,omitempty"`
}

// Operand is what a property is compared with: a constant, or a claim of the caller.
type Operand struct {
	Claim string    `json:"claim,omitempty"`
	Const *Constant `json:"const,omitempty"`
}

// Constant is a boolean, number, string, or list of them.
type Constant struct{ graph.Value }

// MarshalJSON implements json.Marshaler. A float has a decimal point or an exponent.
func (c Constant) MarshalJSON() ([]byte, error) {
	switch v := c.Value; v.Kind() {
	case graph.Bool:
		return json.Marshal(v.Bool())
	case graph.Int:
		return strconv.AppendInt(nil, v.Int(), 10), nil
	case graph.Float:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%v cannot be a constant of a rule", f)
		}
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return []byte(text), nil
	case graph.String:
		return json.Marshal(v.Str())
	case graph.List:
		out := make([]Constant, 0, len(v.List()))
		for _, x := range v.List() {
			out = append(out, Constant{x})
		}
		return json.Marshal(out)
	default:
		return nil, fmt.Errorf("a value of type %s cannot be a constant of a rule", v.Kind())
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Constant) UnmarshalJSON(b []byte) error {
	var x any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&x); err != nil {
		return err
	}
	v, err := ValueOf(x)
	c.Value = v
	return err
}

// ValueOf converts a claim, or a constant, from what encoding/json decodes with UseNumber, or a YAML decoder: a boolean, number, string, or
// list of them.
func ValueOf(x any) (graph.Value, error) {
	switch x := x.(type) {
	case bool:
		return graph.BoolValue(x), nil
	case string:
		return graph.StringValue(x), nil
	case int:
		return graph.IntValue(int64(x)), nil
	case float64:
		return graph.FloatValue(x), nil
	case json.Number:
		if i, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return graph.IntValue(i), nil
		}
		f, err := x.Float64()
		return graph.FloatValue(f), err
	case []any:
		out := make([]graph.Value, 0, len(x))
		for _, e := range x {
			if _, nested := e.([]any); nested {
				return graph.Value{}, errors.New("a list of lists is not supported")
			}
			v, err := ValueOf(e)
			if err != nil {
				return graph.Value{}, err
			}
			out = append(out, v)
		}
		return graph.ListValue(out), nil
	default:
		return graph.Value{}, errors.New("must be a boolean, a number, a string, or a list of them")
	}
}

// Props appends the properties that the condition reads.
func (c *Condition) Props(dst []string) []string {
	if c == nil {
		return dst
	}
	if c.Prop != "" && !slices.Contains(dst, c.Prop) {
		dst = append(dst, c.Prop)
	}
	for _, of := range c.Of {
		dst = of.Props(dst)
	}
	return dst
}

// Claims appends the claims that the condition needs.
func (c *Condition) Claims(dst []string) []string {
	if c == nil {
		return dst
	}
	if c.With != nil && c.With.Claim != "" && !slices.Contains(dst, c.With.Claim) {
		dst = append(dst, c.With.Claim)
	}
	for _, of := range c.Of {
		dst = of.Claims(dst)
	}
	return dst
}

// String returns the condition as it stands in a statement, over a variable n.
func (c *Condition) String() string {
	switch c.Op {
	case And, Or:
		parts := make([]string, len(c.Of))
		for i, of := range c.Of {
			parts[i] = of.String()
			if of.Op == And || of.Op == Or {
				parts[i] = "(" + parts[i] + ")"
			}
		}
		return strings.Join(parts, " "+string(c.Op)+" ")
	case Not:
		return "NOT (" + c.Of[0].String() + ")"
	case IsNull, IsNotNull:
		return "n." + name(c.Prop) + " " + string(c.Op)
	}
	return "n." + name(c.Prop) + " " + string(c.Op) + " " + c.With.String()
}

// String returns the operand as it stands in a statement.
func (o *Operand) String() string {
	if o.Claim != "" {
		return "$claims." + name(o.Claim)
	}
	return literal(o.Const.Value)
}

func literal(v graph.Value) string {
	switch v.Kind() {
	case graph.List:
		parts := make([]string, 0, len(v.List()))
		for _, x := range v.List() {
			parts = append(parts, literal(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case graph.String:
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(v.Str()) + "'"
	}
	b, err := Constant{v}.MarshalJSON()
	if err != nil {
		panic(err) // rules hold no such constant
	}
	return string(b)
}

// Holds reports whether the condition holds for an element with properties and a caller with claims.
func (c *Condition) Holds(prop func(name string) graph.Value, claims map[string]graph.Value) bool {
	props := c.Props(nil)
	cols := make([][]graph.Value, len(props))
	for i, name := range props {
		cols[i] = []graph.Value{prop(name)}
	}
	return testOf(c, props, claims).eval(cols, 0) == yes
}

// truth is a value of three-valued logic.
type truth int8

const (
	no      truth = -1
	unknown truth = 0
	yes     truth = 1
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// test is a condition with its properties as columns and its operands as values.
type test struct {
	op   Op
	of   []test
	col  int // noColumn: the graph has no such property
	with graph.Value
}

const noColumn = -1

// eval evaluates the test for row i of columns.
func (t *test) eval(cols [][]graph.Value, i int) truth {
	switch t.op {
	case And, Or:
		out := yes
		if t.op == Or {
			out = no
		}
		for k := range t.of {
			if x := t.of[k].eval(cols, i); t.op == And {
				out = min(out, x)
			} else {
				out = max(out, x)
			}
		}
		return out
	case Not:
		return -t.of[0].eval(cols, i)
	}
	var v graph.Value
	if t.col != noColumn {
		v = cols[t.col][i]
	}
	switch t.op {
	case IsNull:
		return truthOf(v.IsNull())
	case IsNotNull:
		return truthOf(!v.IsNull())
	case In:
		if t.with.Kind() != graph.List {
			return unknown
		}
		out := no
		for _, x := range t.with.List() {
			out = max(out, equal(v, x))
		}
		if len(t.with.List()) > 0 && v.IsNull() {
			return unknown
		}
		return out
	case Equal:
		return equal(v, t.with)
	case Unequal:
		return -equal(v, t.with)
	}
	c, ok := order(v, t.with)
	if !ok {
		return unknown
	}
	switch t.op {
	case Less:
		return truthOf(c < 0)
	case LessEqual:
		return truthOf(c <= 0)
	case More:
		return truthOf(c > 0)
	default:
		return truthOf(c >= 0)
	}
}

// equal compares values as openCypher's = does: those of different kinds differ, but for numbers; null is unknown.
func equal(a, b graph.Value) truth {
	if a.IsNull() || b.IsNull() {
		return unknown
	}
	if a.Kind() == graph.Bool && b.Kind() == graph.Bool {
		return truthOf(a.Bool() == b.Bool())
	}
	if a.Kind() == graph.List && b.Kind() == graph.List {
		if len(a.List()) != len(b.List()) {
			return no
		}
		out := yes
		for i, x := range a.List() {
			out = min(out, equal(x, b.List()[i]))
		}
		return out
	}
	c, ok := order(a, b)
	return truthOf(ok && c == 0)
}

// order compares numbers, or strings; ok is false for other values.
func order(a, b graph.Value) (c int, ok bool) {
	switch {
	case a.Kind() == graph.String && b.Kind() == graph.String:
		return strings.Compare(a.Str(), b.Str()), true
	case a.Kind() == graph.Int && b.Kind() == graph.Int:
		return cmp.Compare(a.Int(), b.Int()), true
	case a.Kind() == graph.Float && b.Kind() == graph.Float:
		return cmp.Compare(a.Float(), b.Float()), !math.IsNaN(a.Float()) && !math.IsNaN(b.Float())
	case a.Kind() == graph.Int && b.Kind() == graph.Float:
		return graph.CompareIntFloat(a.Int(), b.Float()), !math.IsNaN(b.Float())
	case a.Kind() == graph.Float && b.Kind() == graph.Int:
		return -graph.CompareIntFloat(b.Int(), a.Float()), !math.IsNaN(a.Float())
	}
	return 0, false
}
