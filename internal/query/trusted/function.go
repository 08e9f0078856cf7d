package trusted

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// Result returns the rows of an operation as the value of a function: of a single column, or a map of several; and a list of those unless the
// operation gives one row at most.
func Result(ctx context.Context, rows *exec.Rows, columns []string, single bool) (v graph.Value, err error) {
	const cell = 64 // about the bytes of a value
	var list []graph.Value
	for {
		b, err := rows.Next(ctx)
		if err != nil {
			return v, err
		}
		if b == nil {
			break
		}
		for i := range b.N {
			if len(columns) == 1 {
				list = append(list, b.Cols[0].Value(i).Clone())
				continue
			}
			entries := make([]graph.MapEntry, len(columns))
			for k, name := range columns {
				entries[k] = graph.MapEntry{Key: name, Value: b.Cols[k].Value(i).Clone()}
			}
			list = append(list, graph.MapValue(entries))
		}
		if err := rows.HoldBytes(len(list) * len(columns) * cell); err != nil {
			return v, err
		}
	}
	switch {
	case !single:
		return graph.ListValue(list), nil
	case len(list) == 1:
		return list[0], nil
	}
	return v, nil
}

// Unknown makes a function that is no operation a fault of its request, which is there.
func Unknown(err error) error {
	e := *graph.AsError(err)
	if e.Kind == graph.KindNotFound {
		e.Kind = graph.KindInvalid
	}
	return &e
}

// NoFunction is the error for a call, as a function, of an operation that is none.
func NoFunction(name string) error {
	err := graph.RequestError(graph.KindInvalid, "NoFunction", "the operation %s is no function: a function is a statement that reads", name)
	err.Code = "Neo.ClientError.Operation.NoFunction"
	return err
}

// NoStatement is the error for a call, as a statement, of a fetch that writes.
func NoStatement(o *operation.Operation) error {
	err := graph.RequestError(graph.KindInvalid, "NoStatement",
		"the operation %s is a fetch that writes, which no statement can call: call it by POST /v1/op/%s, POST /%s?operation=%s or the RPC Fetch", o.Name, o.Name, o.Route, o.Name)
	err.Code = "Neo.ClientError.Operation.NoStatement"
	return err
}

// NoFetch is the error for a call of an operation by the route of a fetch, or by the RPC Fetch if route is "", that is of another one.
func NoFetch(o *operation.Operation, route string) error {
	what := string(o.Kind())
	if o.Kind() == operation.Fetch {
		what = "fetch by " + o.Route
	}
	by := "a fetch"
	if route != "" {
		by = "a fetch by " + route
	}
	err := graph.RequestError(graph.KindInvalid, "AnotherKind", "the operation %s is a %s, not %s", o.Name, what, by)
	err.Code = "Neo.ClientError.Operation.AnotherKind"
	return err
}
