package fn

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/spatial"
)

var pointFunctions = []Function{
	{
		Name: "point", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Map | Point}, Result: Point | Null,
		Signature:   "point(properties :: MAP) :: POINT",
		Description: "A point of x, y and z, or of longitude, latitude and height, with a crs or an srid; null if one of them is null.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() == graph.PointKind {
				return args[0], nil
			}
			if args[0].Kind() != graph.Map {
				return null, badArgument("point", args[0], "a Map")
			}
			for _, e := range args[0].Map() {
				if _, coordinate := coordinates[e.Key]; coordinate && e.Value.IsNull() {
					return null, nil
				}
			}
			p, err := graph.PointOf(args[0])
			if err != nil {
				return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "point(): %s", err.Error())
			}
			return graph.PointValue(p), nil
		}),
	},
	{
		Name: "point.distance", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Result:    Float | Null,
		Signature: "point.distance(from :: POINT, to :: POINT) :: FLOAT",
		Description: "The distance of two points: in metres on the earth's surface or in the unit of the coordinates; null for points of " +
			"different systems.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.PointKind || args[1].Kind() != graph.PointKind {
				return null, nil
			}
			d, ok := spatial.Distance(args[0].Point(), args[1].Point())
			if !ok {
				return null, nil
			}
			return graph.FloatValue(d), nil
		},
	},
	{
		Name: "point.withinBBox", MinArgs: 3, MaxArgs: 3, Deterministic: true,
		Result:    Boolean | Null,
		Signature: "point.withinBBox(point :: POINT, lowerLeft :: POINT, upperRight :: POINT) :: BOOLEAN",
		Description: "Whether a point lies in a box, its border included; a box on the earth may cross the date line. Null for points of " +
			"different systems.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			for _, a := range args {
				if a.Kind() != graph.PointKind {
					return null, nil
				}
			}
			in, ok := spatial.InBox(args[0].Point(), args[1].Point(), args[2].Point())
			if !ok {
				return null, nil
			}
			return graph.BoolValue(in), nil
		},
	},
}

// coordinates are the properties that make point() null if they are null.
var coordinates = map[string]struct{}{
	"x": {}, "y": {}, "z": {}, "longitude": {}, "latitude": {}, "height": {}, "crs": {}, "srid": {},
}
