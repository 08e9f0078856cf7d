package spatial

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

// EarthRadius is the radius of the sphere used for distances on the earth, in metres.
const EarthRadius = 6378140

// Distance returns the distance of two points; ok is false if their systems differ. On the earth it is the great-circle distance (haversine
// formula), with the average height of the points added to the radius.
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
	d := 2 * (EarthRadius + (a.Z+b.Z)/2) * math.Asin(math.Sqrt(math.Min(h, 1)))
	return math.Hypot(d, a.Z-b.Z), true
}

// InBox reports whether a point is in a box, including the border; ok is false if the systems differ. A box on the earth whose lower corner
// is east of its upper one crosses the date line.
func InBox(p, low, high *graph.Point) (in, ok bool) {
	if p.CRS != low.CRS || p.CRS != high.CRS {
		return false, false
	}
	between := func(x, from, to float64) bool { return from <= x && x <= to }
	east := between(p.X, low.X, high.X)
	if p.CRS.Geographic() && low.X > high.X {
		east = p.X >= low.X || p.X <= high.X
	}
	return east && between(p.Y, low.Y, high.Y) && between(p.Z, low.Z, high.Z), true
}
