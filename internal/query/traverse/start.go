package traverse

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// check validates a selector.
func (s *Selector) check(field string) error {
	n := 0
	for _, given := range [...]bool{s.Property != "" || s.Label != "", s.Statement != "", len(s.IDs) > 0} {
		if given {
			n++
		}
	}
	switch {
	case n != 1:
		return invalid(field, "must name vertices in one way: by a label, a property and its values, by a statement, or by element ids")
	case s.Statement == "" && len(s.IDs) == 0 && s.Property == "":
		return invalid(field+".property", "is required beside a label")
	case s.Property != "" && len(s.Values) == 0:
		return invalid(field+".values", "must not be empty")
	}
	return nil
}

// shape is the part of a selector that affects the plan: all but the values and ids, which are parameters.
func (s *Selector) shape() Selector {
	c := *s
	c.Values, c.IDs = nil, nil
	if len(s.Values) == 1 {
		c.Values = make([]graph.Value, 1)
	}
	if len(s.IDs) > 0 {
		c.IDs = []string{""}
	}
	return c
}

// text is the statement that finds the vertices in its first column. param is the name of the parameter that holds the values.
func (s *Selector) text(param string) string {
	param = "$" + ast.Quote(param)
	switch {
	case s.Statement != "":
		return s.Statement
	case len(s.IDs) > 0:
		return "UNWIND " + param + " AS id MATCH (x) WHERE elementId(x) = id RETURN x"
	}
	label := ""
	if s.Label != "" {
		label = ":" + ast.Quote(s.Label)
	}
	op := " IN "
	if len(s.Values) == 1 {
		op = " = "
	}
	return "MATCH (x" + label + ") WHERE x." + ast.Quote(s.Property) + op + param + " RETURN x"
}

// clauses returns the clauses that bind the vertices to variable, in addition to the variables in scope.
func (s *Selector) clauses(field, variable, param, before string, opts cypher.Options) (string, error) {
	if s.Statement != "" {
		q, _, err := s.plan(field, param, opts)
		if err != nil {
			return "", err
		}
		return "CALL {" + s.Statement + "\n} WITH " + before + ast.QuoteVariable(q.Names[0]) + " AS " + variable + " ", nil
	}
	return "CALL {" + s.text(param) + "} WITH " + before + "x AS " + variable + " ", nil
}

// addParams adds the parameters of the statement returned by text.
func (s *Selector) addParams(param string, params map[string]graph.Value) {
	switch {
	case s.Statement != "":
	case len(s.IDs) > 0:
		ids := make([]graph.Value, len(s.IDs))
		for i, id := range s.IDs {
			ids[i] = graph.StringValue(id)
		}
		params[param] = graph.ListValue(ids)
	case len(s.Values) == 1:
		params[param] = s.Values[0]
	default:
		params[param] = graph.ListValue(s.Values)
	}
}

// The names of the parameters that hold selectors' values. No user's parameter contains a space.
const (
	fromParam = "from key"
	toParam   = "to key"
	rankParam = "rank vector"
)

// plan compiles the selector to a plan and returns the column that holds its vertices.
func (s *Selector) plan(field, param string, opts cypher.Options) (*plan.Query, plan.Col, error) {
	q, command, err := cypher.Compile(s.text(param), opts)
	switch {
	case err != nil:
		return nil, 0, inField(field, err)
	case command != nil || q.Prefix != "" || len(q.Out) == 0:
		return nil, 0, invalid(field, "the statement must return vertices")
	case q.Writes:
		return nil, 0, invalid(field, "the statement must not write")
	}
	return q, q.Out[0], nil
}
