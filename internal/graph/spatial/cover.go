package spatial

import (
	"cmp"
	"math"
	"slices"

	"github.com/golang/geo/r1"
	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/hopgate/hopgate/internal/graph"
)

// Span is a closed interval of places.
type Span struct{ Lo, Hi int64 }

// A cover of an area is a small set of ascending, disjoint spans that contain the places of all its points. They also contain places
// outside, so readers test each point.

// maxCells bounds the cells of a cover: more of them fit the border better, but need more look-ups.
const maxCells = 24

// margin extends all angles on the earth, in radians (about 6 cm): more than the rounding errors of the exact tests.
const margin = 1e-8

// coverer produces cells no smaller than the resolution of places.
var coverer = s2.RegionCoverer{MaxLevel: 29, LevelMod: 1, MaxCells: maxCells}

// At covers one point.
func At(p *graph.Point) []Span {
	on := Place(p)
	return []Span{{on, on}}
}

// Box covers the points for which InBox holds.
func Box(low, high *graph.Point) []Span {
	switch {
	case low.CRS != high.CRS || low.Y > high.Y || low.Z > high.Z:
		return nil
	case !low.CRS.Geographic():
		if low.X > high.X {
			return nil
		}
		return plainBox(low, high)
	}
	const degree = math.Pi / 180
	lat := r1.Interval{Lo: low.Y * degree, Hi: high.Y * degree}.Expanded(margin)
	lon := s1.IntervalFromEndpoints(low.X*degree, high.X*degree)
	if low.X == 180 && high.X == -180 {
		lon = s1.Interval{Lo: math.Pi, Hi: math.Pi} // a single meridian, which s1 would take for an empty interval
	}
	if lat.Lo <= -math.Pi/2 || lat.Hi >= math.Pi/2 {
		lon = s1.FullInterval() // all meridians meet at a pole
	}
	pole := r1.Interval{Lo: -math.Pi / 2, Hi: math.Pi / 2}
	return cellSpans(low.CRS, s2.Rect{Lat: lat.Intersection(pole), Lng: lon.Expanded(margin)})
}

// Near covers the points whose Distance from the centre is at most radius.
func Near(centre *graph.Point, radius float64) []Span {
	if !(radius >= 0) {
		return nil
	}
	if !centre.CRS.Geographic() {
		// Rounding errors of a distance stay below this in total.
		r := radius * (1 + 1e-12)
		low, high := *centre, *centre
		low.X, low.Y = low.X-r, low.Y-r
		high.X, high.Y = high.X+r, high.Y+r
		if centre.CRS.Dimensions() == 3 {
			low.Z, high.Z = low.Z-r, high.Z+r
		}
		return plainBox(&low, &high)
	}
	sphere := float64(EarthRadius)
	if centre.CRS.Dimensions() == 3 {
		// The sphere's radius follows the average height, and no matching point is lower than the radius below the centre.
		sphere += centre.Z - radius/2
	}
	angle := math.Pi
	if sphere > 0 {
		// Beyond the rounding of angles, the haversine formula's errors grow towards the antipode.
		angle = math.Min(radius/sphere*(1+1e-7)+margin, math.Pi)
	}
	return cellSpans(centre.CRS, s2.CapFromCenterAngle(s2.PointFromLatLng(s2.LatLngFromDegrees(centre.Y, centre.X)), s1.Angle(angle)))
}

// cellSpans covers a region of the earth.
func cellSpans(crs graph.CRS, area s2.Region) []Span {
	var spans []Span
	for _, id := range coverer.Covering(area) {
		spans = append(spans, Span{place(crs, cellPlace(id.RangeMin())), place(crs, cellPlace(id.RangeMax()))})
	}
	return merge(spans)
}

// merge sorts spans and joins adjacent ones.
func merge(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Lo, b.Lo) })
	n := 0
	for _, s := range spans {
		if n > 0 && s.Lo <= spans[n-1].Hi+1 {
			spans[n-1].Hi = max(spans[n-1].Hi, s.Hi)
			continue
		}
		spans[n] = s
		n++
	}
	return spans[:n]
}

// plainBox covers a box in the plane or in space: the part of it in each grid.
func plainBox(low, high *graph.Point) []Span {
	// apart returns the distance of an interval from 0.
	apart := func(lo, hi float64) float64 { return max(lo, -hi, 0) }
	nearest := max(apart(low.X, high.X), apart(low.Y, high.Y), apart(low.Z, high.Z))
	var spans []Span
	for scale := scaleOf(nearest); scale <= scaleOf(max(norm(low), norm(high))); scale++ {
		g := gridOf(low.CRS, scale)
		for _, c := range g.cover(g.cell(low), g.cell(high)) {
			spans = append(spans, Span{place(low.CRS, g.place(c.lo)), place(low.CRS, g.place(c.hi))})
		}
	}
	return merge(spans)
}

// gridCell is a part of a grid whose places form one span: it results from bisecting the grid along coordinates in turn.
type gridCell struct {
	lo, hi [3]uint64 // rows, inclusive
	halved int       // number of bisections
	waste  float64   // how much of the cell is outside the area
}

// cover covers the rows between two cells. It starts with the whole grid, repeatedly bisects the cell with most waste, and drops cells that
// are completely outside.
func (g grid) cover(from, to [3]uint64) []gridCell {
	all := gridCell{waste: math.Inf(1)}
	for d := range g.dims {
		all.hi[d] = 1<<g.bits - 1
	}
	cells := []gridCell{all}
	for len(cells) < maxCells {
		worst := 0
		for i := range cells {
			if cells[i].waste > cells[worst].waste {
				worst = i
			}
		}
		c := cells[worst]
		if c.waste == 0 {
			break
		}
		cells = slices.Delete(cells, worst, worst+1)
		d := c.halved % g.dims
		middle := c.lo[d] + (c.hi[d]-c.lo[d])/2
		c.halved++
		lower, upper := c, c
		lower.hi[d], upper.lo[d] = middle, middle+1
		for _, half := range [...]gridCell{lower, upper} {
			if half.hi[d] >= from[d] && half.lo[d] <= to[d] {
				half.waste = half.outside(from, to)
				cells = append(cells, half)
			}
		}
	}
	return cells
}

// outside measures the part of a cell outside the rows between two others.
func (c *gridCell) outside(from, to [3]uint64) float64 {
	all, within := 1.0, 1.0
	for d := range c.lo {
		all *= float64(c.hi[d] - c.lo[d] + 1)
		within *= float64(min(c.hi[d], to[d]) - max(c.lo[d], from[d]) + 1)
	}
	return all - within
}
