package spatial

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

var allSystems = []graph.CRS{graph.WGS84, graph.WGS843D, graph.Cartesian, graph.Cartesian3D}

func in(spans []Span, at int64) bool {
	for _, s := range spans {
		if s.Lo <= at && at <= s.Hi {
			return true
		}
	}
	return false
}

// tidy checks that spans are few, ascending and apart.
func tidy(t *testing.T, spans []Span) {
	t.Helper()
	require.LessOrEqual(t, len(spans), maxCells*(lastScale+1))
	for i, s := range spans {
		require.LessOrEqual(t, s.Lo, s.Hi)
		require.True(t, i == 0 || spans[i-1].Hi+1 < s.Lo, "%v", spans)
	}
}

// anyPoint returns a random point: with round coordinates, near another, or anywhere.
func anyPoint(rng *rand.Rand, crs graph.CRS, near *graph.Point) *graph.Point {
	var c [3]float64
	for d := range c {
		limit := 1e3
		if crs.Geographic() {
			limit = [3]float64{180, 90, 1e4}[d]
		}
		switch rng.IntN(8) {
		case 0:
			c[d] = []float64{0, limit, -limit, limit / 2}[rng.IntN(4)]
		case 1:
			c[d] = limit * (2*rng.Float64() - 1)
		case 2:
			c[d] = math.Round(limit * (2*rng.Float64() - 1))
		case 3:
			c[d] = math.Ldexp(2*rng.Float64()-1, -rng.IntN(60))
		case 4:
			if !crs.Geographic() {
				c[d] = math.Ldexp(2*rng.Float64()-1, rng.IntN(1000))
			}
		default:
			if near != nil {
				x := [3]float64{near.X, near.Y, near.Z}[d]
				c[d] = x + math.Ldexp(2*rng.Float64()-1, -rng.IntN(40))*min(limit, 8)
			}
		}
		if crs.Geographic() && d < 2 {
			c[d] = max(-limit, min(limit, c[d]))
		}
	}
	p, err := graph.MakePoint(crs, c[:crs.Dimensions()]...)
	if err != nil {
		panic(fmt.Sprint(err, c))
	}
	return &p
}

// No point that is in an area is missed by its cover, whatever the rounding.
func TestCoversHoldAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	rounds := 5_000
	if testing.Short() {
		rounds = 2_000
	}
	inside, outside := 0, 0
	for range rounds {
		crs := allSystems[rng.IntN(len(allSystems))]
		a := anyPoint(rng, crs, nil)
		b := anyPoint(rng, crs, a)
		box := Box(a, b)
		radius := []float64{0, 1e-3, 1, 1e3, 1e6, math.Pi * EarthRadius, math.Ldexp(rng.Float64(), rng.IntN(60)-20), math.Inf(1)}[rng.IntN(8)]
		if d, _ := Distance(a, b); rng.IntN(2) == 0 {
			radius = d
		}
		near := Near(a, radius)
		tidy(t, box)
		tidy(t, near)
		for _, p := range []*graph.Point{a, b, anyPoint(rng, crs, a), anyPoint(rng, crs, b), anyPoint(rng, crs, nil), anyPoint(rng, crs, nil)} {
			at := Place(p)
			require.True(t, in(At(p), at))
			if ok, _ := InBox(p, a, b); ok {
				require.True(t, in(box, at), "%+v in the box of %+v and %+v", p, a, b)
			}
			if d, _ := Distance(a, p); d <= radius {
				inside++
				require.True(t, in(near, at), "%+v within %v of %+v", p, radius, a)
			} else if !in(near, at) {
				outside++
			}
		}
	}
	require.Greater(t, inside, rounds)
	require.Greater(t, outside, rounds/4)
}

// Points at the antipode of a centre are within the distance that the haversine formula computes, which is coarse there.
func TestCoverNearAntipode(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
		a := anyPoint(rng, graph.WGS84, nil)
		p := graph.Point{CRS: graph.WGS84, X: a.X + 180, Y: -a.Y}
		p.X += math.Ldexp(2*rng.Float64()-1, -rng.IntN(40))
		p.Y += math.Ldexp(2*rng.Float64()-1, -rng.IntN(40))
		p, err := graph.MakePoint(graph.WGS84, p.X, max(-90, min(90, p.Y)))
		require.NoError(t, err)
		d, _ := Distance(a, &p)
		require.True(t, in(Near(a, d), Place(&p)), "%+v from %+v", p, a)
	}
}

// Covers are much smaller than the world: a search for near points reads little else.
func TestCoversAreTight(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		centre graph.Point
		extent float64 // of the points around it
		radius float64
		most   float64 // points in the cover for one within the radius
	}{
		{graph.Point{CRS: graph.WGS84, X: 12.5, Y: 55.7}, 1, 5_000, 2.5},
		{graph.Point{CRS: graph.WGS84, X: 180, Y: 0}, 1, 5_000, 2.5},
		{graph.Point{CRS: graph.WGS843D, X: 12.5, Y: 55.7, Z: 100}, 1, 5_000, 2.5},
		{graph.Point{CRS: graph.Cartesian, X: 0, Y: 0}, 1000, 50, 3},
		{graph.Point{CRS: graph.Cartesian, X: 500_000, Y: 6_000_000}, 100_000, 5_000, 4},
		{graph.Point{CRS: graph.Cartesian, X: 150, Y: 0}, 1000, 200, 5},
		{graph.Point{CRS: graph.Cartesian, X: 0.5, Y: 0.5}, 0.5, 0.05, 3},
		{graph.Point{CRS: graph.Cartesian3D, X: 500, Y: 500, Z: 500}, 1000, 200, 6},
		{graph.Point{CRS: graph.Cartesian3D, X: 100, Y: 100, Z: 100}, 1000, 200, 16},
	} {
		spans := Near(&c.centre, c.radius)
		found, within := 0, 0
		for range 50_000 {
			p := c.centre
			p.X += c.extent * (2*rng.Float64() - 1)
			p.Y += c.extent * (2*rng.Float64() - 1)
			if p.CRS == graph.Cartesian3D {
				p.Z += c.extent * (2*rng.Float64() - 1)
			}
			if p.CRS.Geographic() && p.X > 180 {
				p.X -= 360
			}
			if in(spans, Place(&p)) {
				found++
			}
			if d, _ := Distance(&c.centre, &p); d <= c.radius {
				within++
			}
		}
		require.Positive(t, within)
		require.Less(t, float64(found), c.most*float64(within), "%+v: %d for %d", c.centre, found, within)
	}
}

// An empty area has no cover, and the whole world has one span.
func TestCoverOfNothingAndAll(t *testing.T) {
	p := func(crs graph.CRS, c ...float64) *graph.Point {
		made, err := graph.MakePoint(crs, c...)
		require.NoError(t, err)
		return &made
	}
	for _, crs := range allSystems {
		centre := &graph.Point{CRS: crs, X: 1, Y: 2}
		for _, r := range []float64{-1, math.Inf(-1), math.NaN(), math.Copysign(5e-324, -1)} {
			require.Empty(t, Near(centre, r))
		}
		require.NotEmpty(t, Near(centre, 0))
		require.Len(t, Near(centre, math.Inf(1)), 1)
		require.Empty(t, Box(&graph.Point{CRS: crs, Y: 2}, &graph.Point{CRS: crs, Y: 1}), "no latitude")
	}
	require.Empty(t, Box(p(graph.Cartesian, 1, 1), p(graph.WGS84, 2, 2)))
	require.Empty(t, Box(p(graph.Cartesian, 2, 1), p(graph.Cartesian, 1, 2)))
	require.Len(t, Box(p(graph.WGS84, -180, -90), p(graph.WGS84, 180, 90)), 1)
	// A box that begins east of where it ends crosses the date line.
	dateLine := Box(p(graph.WGS84, 170, -10), p(graph.WGS84, -170, 10))
	for x, want := range map[float64]bool{175: true, -175: true, 180: true, -180: true, 0: false, 90: false, -90: false} {
		require.Equal(t, want, in(dateLine, Place(p(graph.WGS84, x, 0))), x)
	}
	meridian := Box(p(graph.WGS84, 180, -1), p(graph.WGS84, -180, 1))
	require.True(t, in(meridian, Place(p(graph.WGS84, -180, 0))))
	require.False(t, in(meridian, Place(p(graph.WGS84, 0, 0))))
}

// The rows of a grid rise with the coordinate, and a point beyond the last scale is at its border.
func TestGridRows(t *testing.T) {
	for _, crs := range []graph.CRS{graph.Cartesian, graph.Cartesian3D} {
		for scale := range lastScale + 1 {
			g := gridOf(crs, scale)
			last := uint64(0)
			for _, x := range []float64{
				math.Inf(-1), -math.MaxFloat64, -1e12, -256, -7, -1.5, -1, -0.1, -1e-7, -5e-324, 0, 5e-324, 1e-8, 1e-7, 0.1, 1, 1.5, 7, 256, 1e12, math.MaxFloat64, math.Inf(1),
			} {
				row := g.row(x)
				require.GreaterOrEqual(t, row, last, x)
				require.Less(t, row, uint64(1)<<g.bits)
				last = row
			}
			require.Equal(t, uint64(1)<<g.bits-1, last)
		}
		require.Equal(t, lastScale, scaleOf(math.MaxFloat64))
	}
}

// Places are stored: a change of these breaks the point indexes of every graph.
func TestPlacesStay(t *testing.T) {
	var text bytes.Buffer
	for _, crs := range allSystems {
		for _, c := range [][3]float64{{0, 0, 0}, {12.5, 55.7, 30}, {-180, -90, -1}, {180, 90, 1e4}, {-0.001, 1e-9, 1e15}} {
			fmt.Fprintf(&text, "%d %x\n", crs, uint64(Place(&graph.Point{CRS: crs, X: c[0], Y: c[1], Z: c[2]})))
		}
	}
	require.Equal(t, places, text.String())
}

const places = `4326 8400000000000000
4326 919494f54bdc0817
4326 ac00000000000000
4326 9400000000000000
4326 83fffffffd61d5f5
4979 c400000000000000
4979 d19494f54bdc0817
4979 ec00000000000000
4979 d400000000000000
4979 c3fffffffd61d5f5
7203 300000000000000
7203 305b5c505050505
7203 64b40000000000
7203 700009b64000000
7203 1b00000000000000
9157 41c0000000000000
9157 41c04ef6b0480480
9157 401d66f640000000
9157 43c02012629d4400
9157 4dc0000248009041
`
