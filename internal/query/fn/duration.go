package fn

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

var durationFunctions = []Function{
	{
		Name: "duration", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result:      Duration | Null,
		Signature:   "duration(value :: STRING | MAP) :: DURATION",
		Description: "Reads a text, or adds up a map of units.",
		Eval:        strict(makeDuration),
	},
	between("duration.between", "in months, days and seconds", temporal.Between),
	between("duration.inMonths", "in whole months", temporal.InMonths),
	between("duration.inDays", "in whole days", temporal.InDays),
	between("duration.inSeconds", "in seconds", temporal.InSeconds),
}

func makeDuration(_ *Context, args []graph.Value) (graph.Value, error) {
	switch v := args[0]; v.Kind() {
	case graph.Duration:
		return v, nil
	case graph.String:
		d, err := temporal.ParseDuration(v.Str())
		return temporalResult(graph.DurationValue(d), err)
	case graph.Map:
		var b temporal.DurationBuilder
		for _, e := range v.Map() {
			var err error
			switch e.Value.Kind() {
			case graph.Null:
			case graph.Int:
				err = b.AddInt(e.Key, e.Value.Int())
			case graph.Float:
				err = b.AddFloat(e.Key, e.Value.Float())
			default:
				return null, badArgument("duration", e.Value, "a number of "+e.Key)
			}
			if err != nil {
				return null, graph.TemporalError(err)
			}
		}
		d, err := b.Duration()
		return temporalResult(graph.DurationValue(d), err)
	}
	return null, badArgument("duration", args[0], "a String or Map")
}

func between(name, how string, f func(from, to temporal.Parts) (temporal.Duration, error)) Function {
	return Function{
		Name: name, MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Result:      Duration | Null,
		Signature:   name + "(from :: temporal, to :: temporal) :: DURATION",
		Description: "What lies between two instants, " + how + ".",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			from, ok1 := parts(args[0])
			to, ok2 := parts(args[1])
			if !ok1 || !ok2 {
				bad := args[0]
				if ok1 {
					bad = args[1]
				}
				return null, badArgument(name, bad, "an instant")
			}
			d, err := f(from, to)
			return temporalResult(graph.DurationValue(d), err)
		}),
	}
}
