package fn

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

// earthRadius is the radius of the sphere that distances on the earth are computed on, in metres.
const earthRadius = 6378140

var pointFunctions = []Function{
	{
		Name: "point", MinArgs: 1, MaxArgs: 1, Deterministic: true,
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
		Signature: "point.distance(from :: POINT, to :: POINT) :: FLOAT",
		Description: "The distance of two points: in metres on the earth's surface or in the unit of the coordinates; null for points of " +
			"different systems.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.PointKind || args[1].Kind() != graph.PointKind {
				return null, nil
			}
			d, ok := Distance(args[0].Point(), args[1].Point())
			if !ok {
				return null, nil
			}
			return graph.FloatValue(d), nil
		},
	},
	{
		Name: "point.withinBBox", MinArgs: 3, MaxArgs: 3, Deterministic: true,
		Signature: "point.withinBBox(point :: POINT, lowerLeft :: POINT, upperRight :: POINT) :: BOOLEAN",
		Description: "Whether a point lies in a box, its border included; a box on the earth may cross the date line. Null for points of " +
			"different systems.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			for _, a := range args {
				if a.Kind() != graph.PointKind {
					return null, nil
				}
			}
			p, low, high := args[0].Point(), args[1].Point(), args[2].Point()
			if p.CRS != low.CRS || p.CRS != high.CRS {
				return null, nil
			}
			return graph.BoolValue(inBox(p, low, high)), nil
		},
	},
}

// coordinates are the properties of point() that make it null.
var coordinates = map[string]struct{}{
	"x": {}, "y": {}, "z": {}, "longitude": {}, "latitude": {}, "height": {}, "crs": {}, "srid": {},
}

// Distance gives the distance of two points of one system; it is not ok for points of different ones. On the earth it follows the great
// circle (haversine formula), with the average height of the points added to the radius.
func Distance(a, b *graph.Point) (float64, bool) {
	if a.CRS != b.CRS {
		return 0, false
	}
	if !a.CRS.Geographic() {
		return math.Hypot(math.Hypot(a.X-b.X, a.Y-b.Y), a.Z-b.Z), true
	}
	const degree = math.Pi / 180
	lat, lon := math.Sin((b.Y-a.Y)*degree/2), math.Sin((b.X-a.X)*degree/2)
	h := lat*lat + math.Cos(a.Y*degree)*math.Cos(b.Y*degree)*lon*lon
	d := 2 * (earthRadius + (a.Z+b.Z)/2) * math.Asin(math.Sqrt(math.Min(h, 1)))
	return math.Hypot(d, a.Z-b.Z), true
}

// inBox reports whether a point lies in a box of its own system.
func inBox(p, low, high *graph.Point) bool {
	between := func(x, from, to float64) bool { return from <= x && x <= to }
	east := between(p.X, low.X, high.X)
	if p.CRS.Geographic() && low.X > high.X {
		east = p.X >= low.X || p.X <= high.X
	}
	return east && between(p.Y, low.Y, high.Y) && between(p.Z, low.Z, high.Z)
}
