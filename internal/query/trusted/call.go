package trusted

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/shard"
)

// Call is a call of a trusted operation, by its name or its hash, with the parameters of its request. The statement CALL op.name(…) is one
// too.
type Call struct {
	Name, Hash string
	// Decode, if not nil, returns the parameters once the operation is known, in place of those of the request.
	Decode func(o *operation.Operation) (map[string]graph.Value, error)

	Given map[string]graph.Value // the parameters of the request, once it is bound
}

// Text is how lists and logs show the call.
func (c *Call) Text() string {
	if c.Name == "" {
		return "CALL op[" + strconv.Quote(c.Hash) + "]"
	}
	return callHead + c.Name
}

const callHead = "CALL op."

// Parse returns the call that a whole statement is, CALL op.name or CALL op.name($a, 'text', 1) with an optional YIELD *, or nil if it is
// another statement.
func Parse(text string, params map[string]graph.Value) (*Call, error) {
	t := strings.TrimLeft(text, " \t\r\n")
	if len(t) < len(callHead) || !strings.EqualFold(t[:4], "CALL") || t[4] != ' ' && t[4] != '\t' && t[4] != '\n' {
		return nil, nil
	}
	t = strings.TrimLeft(t[4:], " \t\r\n")
	if !strings.HasPrefix(t, "op.") {
		return nil, nil
	}
	t = strings.TrimRight(t[len("op."):], "; \t\r\n")
	end := strings.IndexAny(t, "( \t\r\n")
	if end < 0 {
		end = len(t)
	}
	c, rest := &Call{Name: t[:end]}, strings.TrimLeft(t[end:], " \t\r\n")
	bad := func() (*Call, error) {
		return nil, graph.SyntaxError("InvalidCall", graph.Pos{Line: 1, Column: 1, Offset: 0},
			"a call of a trusted operation is a statement of its own: CALL op.name(arguments) YIELD *, whose arguments are parameters, numbers, strings, true, false and null")
	}
	if !strings.HasPrefix(rest, "(") {
		if !yieldsAll(rest) {
			return bad()
		}
		return c, nil // its parameters are those of the request
	}
	var args []graph.Value
	rest = strings.TrimLeft(rest[1:], " \t\r\n")
	for !strings.HasPrefix(rest, ")") {
		v, after, err := argument(rest, params)
		if err != nil {
			return nil, err
		}
		after = strings.TrimLeft(after, " \t\r\n")
		if len(after) == len(rest) || after == "" {
			return bad()
		}
		args = append(args, v)
		if more, ok := strings.CutPrefix(after, ","); ok {
			rest = strings.TrimLeft(more, " \t\r\n")
			continue
		}
		if rest = after; !strings.HasPrefix(rest, ")") {
			return bad()
		}
	}
	if !yieldsAll(rest[1:]) {
		return bad()
	}
	c.Decode = func(o *operation.Operation) (map[string]graph.Value, error) { return Positional(o, args) }
	return c, nil
}

func yieldsAll(rest string) bool {
	f := strings.Fields(rest)
	return len(f) == 0 || len(f) == 2 && strings.EqualFold(f[0], "YIELD") && f[1] == "*"
}

// argument reads a parameter or a literal, and returns what follows it; rest itself if there is none.
func argument(rest string, params map[string]graph.Value) (v graph.Value, after string, err error) {
	if rest == "" {
		return v, rest, nil
	}
	if q := rest[0]; q == '\'' || q == '"' {
		end := strings.IndexByte(rest[1:], q)
		if end < 0 || strings.Contains(rest[1:1+end], `\`) {
			return v, rest, nil
		}
		return graph.StringValue(rest[1 : 1+end]), rest[end+2:], nil
	}
	end := strings.IndexAny(rest, ",) \t\r\n")
	if end < 0 {
		return v, rest, nil
	}
	word := rest[:end]
	if name, ok := strings.CutPrefix(word, "$"); ok {
		v, ok = params[strings.Trim(name, "`")]
		if !ok {
			return v, rest, graph.MissingParameters(name)
		}
		return v, rest[end:], nil
	}
	switch strings.ToLower(word) {
	case "null":
		return v, rest[end:], nil
	case "true", "false":
		return graph.BoolValue(strings.EqualFold(word, "true")), rest[end:], nil
	}
	if i, err := strconv.ParseInt(word, 10, 64); err == nil {
		return graph.IntValue(i), rest[end:], nil
	}
	if f, err := strconv.ParseFloat(word, 64); err == nil {
		return graph.FloatValue(f), rest[end:], nil
	}
	return v, rest, nil
}

// Positional gives arguments the names of the parameters that have their places.
func Positional(o *operation.Operation, args []graph.Value) (map[string]graph.Value, error) {
	if len(args) > len(o.Params) {
		return nil, graph.RuntimeError("ArgumentError", "InvalidParameters", "operation %s has %d parameters, not %d", o.Name, len(o.Params), len(args))
	}
	out := make(map[string]graph.Value, len(args))
	for i, v := range args {
		out[o.Params[i].Name] = v
	}
	return out, nil
}

// Find returns the operation of a call, or nil.
func (c *Call) Find(g shard.Graph) *operation.Operation {
	if c.Name != "" {
		return operation.Get(g.Definitions(), c.Name)
	}
	return operation.ByHash(g.Definitions(), c.Hash)
}

// NotFound is the error for a call of an operation that a graph has not.
func NotFound(name string, c *Call) error {
	what := c.Name
	if what == "" {
		what = "with the hash " + c.Hash
	}
	err := graph.RequestError(graph.KindNotFound, "NoSuchOperation", "the graph %s has no operation %s", name, what)
	err.Code = "Neo.ClientError.Operation.NotFound"
	return err
}

// MayRun reports whether a caller may run an operation of a graph, if it has the role access.Operations there.
func MayRun(id *access.Identity, name string, o *operation.Operation) bool {
	return id.In(name) == access.Admin || o.May(id.RolesIn(name))
}
