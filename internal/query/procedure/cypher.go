package procedure

import (
	"context"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// addCypher adds APOC's procedures that run statements which are values.
func (r *Registry) addCypher() {
	for _, p := range []struct {
		add                     func(signature, description string, f run)
		statement, when, choose string
	}{
		{r.addQuery, "apoc.cypher.run", "apoc.when", "apoc.case"},
		{r.addWrite, "apoc.cypher.doIt", "apoc.do.when", "apoc.do.case"},
	} {
		p.add(p.statement+"(statement :: STRING, params = {} :: MAP) :: (value :: MAP)",
			"Run a statement in the transaction, and return each of its rows as a map. The params are variables too.",
			func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
				return rowsOf(ctx, c, c.Args[0], c.Args[1])
			})
		p.add(p.when+"(condition :: BOOLEAN, ifQuery :: STRING, elseQuery = \"\" :: STRING, params = {} :: MAP) :: (value :: MAP)",
			"Run the first statement if a condition holds, or else the second one.",
			func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
				if isTrue(c.Args[0]) {
					return rowsOf(ctx, c, c.Args[1], c.Args[3])
				}
				return rowsOf(ctx, c, c.Args[2], c.Args[3])
			})
		p.add(p.choose+"(conditionals :: LIST<ANY>, elseQuery = \"\" :: STRING, params = {} :: MAP) :: (value :: MAP)",
			"Run the statement after the first condition that holds, or else another one.",
			func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) { return choose(ctx, c, p.choose) })
	}
}

// addQuery adds a procedure that reads by statements.
func (r *Registry) addQuery(signature, description string, f run) {
	r.add(signature, description, f)
	name, _, _ := strings.Cut(signature, "(")
	r.builtin[strings.ToLower(name)].sig.Calls = true
}

func isTrue(v graph.Value) bool { return v.Kind() == graph.Bool && v.Bool() }

func choose(ctx context.Context, c *exec.Call, name string) ([][]graph.Value, error) {
	list := c.Args[0].List()
	if c.Args[0].Kind() != graph.List || len(list)%2 != 0 {
		return nil, badArgument(name, "conditionals", "a list of conditions and statements in turn", c.Args[0])
	}
	for pair := range slices.Chunk(list, 2) {
		if isTrue(pair[0]) {
			return rowsOf(ctx, c, pair[1], c.Args[2])
		}
	}
	return rowsOf(ctx, c, c.Args[1], c.Args[2])
}

// rowsOf runs a statement, and returns its rows as maps. An empty statement has the row of its parameters.
func rowsOf(ctx context.Context, c *exec.Call, statement, params graph.Value) (rows [][]graph.Value, err error) {
	if statement.Kind() != graph.String && !statement.IsNull() || params.Kind() != graph.Map && !params.IsNull() {
		return nil, graph.TypeError("InvalidArgumentType", "a statement must be a String, and its params a Map")
	}
	if statement.IsNull() || strings.TrimSpace(statement.Str()) == "" {
		return [][]graph.Value{{graph.MapValue(params.Map())}}, nil
	}
	memory := c.Run.NewValueMemory("ProcedureCall")
	defer memory.Acct.Release()
	in := exec.Inner{Text: withParams(statement.Str(), params.Map()), Params: paramsOf(params.Map()), Writes: true}
	in.Row = func(columns []string, row []graph.Value) error {
		m := make([]graph.MapEntry, len(row))
		for i, v := range row {
			m[i] = graph.MapEntry{Key: columns[i], Value: v}
			if err := memory.Add(ctx, v); err != nil {
				return err
			}
		}
		v := graph.MapValue(m)
		rows = append(rows, []graph.Value{v})
		return memory.Add(ctx, v)
	}
	if err := query(ctx, c, in); err != nil {
		return nil, err
	}
	return rows, nil
}

// query runs a statement of a caller.
func query(ctx context.Context, c *exec.Call, in exec.Inner) error {
	if c.Query == nil {
		return fn.CallFailed("the procedure cannot run a statement here")
	}
	return c.Query(ctx, in)
}

func paramsOf(m []graph.MapEntry) map[string]graph.Value {
	params := make(map[string]graph.Value, len(m))
	for _, e := range m {
		params[e.Key] = e.Value
	}
	return params
}

// withParams makes variables of the parameters of a statement.
func withParams(statement string, params []graph.MapEntry) string {
	if len(params) == 0 {
		return statement
	}
	names := make([]string, len(params))
	for i, e := range params {
		names[i] = "$" + tick(e.Key) + " AS " + tick(e.Key)
	}
	return "WITH " + strings.Join(names, ", ") + " " + statement
}
