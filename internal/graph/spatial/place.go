package spatial

import (
	"math"

	"github.com/golang/geo/s2"

	"github.com/hopgate/hopgate/internal/graph"
)

// The place of a point is an integer: two bits for its system, and 62 for a position on a curve that fills the plane, space or sphere, so
// that points with near places are near each other. Different points may share a place. Places are stored.
const placeBits = 62

// Place returns the place of a point. On the earth it is the S2 cell, regardless of the height.
func Place(p *graph.Point) int64 {
	if p.CRS.Geographic() {
		return place(p.CRS, cellPlace(s2.CellIDFromLatLng(s2.LatLngFromDegrees(p.Y, p.X))))
	}
	g := gridOf(p.CRS, scaleOf(norm(p)))
	return place(p.CRS, g.place(g.cell(p)))
}

func place(crs graph.CRS, on uint64) int64 {
	system := int64(-2) // wgs-84
	switch crs {
	case graph.WGS843D:
		system = -1
	case graph.Cartesian:
		system = 0
	case graph.Cartesian3D:
		system = 1
	}
	return system<<placeBits | int64(on)
}

// cellPlace returns the position of a leaf cell on the curve. Cells measure about 2 cm.
func cellPlace(id s2.CellID) uint64 { return uint64(id) >> (64 - placeBits) }

// grid divides a square or cube around the origin into equal cells. Grids have different scales, powers of 256, so that all numbers have a
// place. A point belongs to the grid of the smallest scale that contains it.
type grid struct {
	dims, bits int // coordinates, and bits per coordinate
	scale      int
}

const (
	scaleBits = 3 // of the scale, above the coordinate bits
	lastScale = 1<<scaleBits - 1
)

func gridOf(crs graph.CRS, scale int) grid {
	return grid{crs.Dimensions(), (placeBits - scaleBits) / crs.Dimensions(), scale}
}

// norm returns the maximum absolute value of the coordinates.
func norm(p *graph.Point) float64 {
	return max(math.Abs(p.X), math.Abs(p.Y), math.Abs(p.Z))
}

// scaleOf returns the scale for points of a norm.
func scaleOf(norm float64) int {
	scale := 0
	for scale < lastScale && norm >= reach(scale) {
		scale++
	}
	return scale
}

// reach returns the distance from the origin at which a scale ends. The last scale also contains everything beyond, at its border.
func reach(scale int) float64 { return math.Ldexp(1, 8*(scale+1)) }

// row returns the row of a coordinate, which increases with it. Coordinates outside the grid get the first or the last row.
func (g grid) row(x float64) uint64 {
	rows := math.Ldexp(1, g.bits)
	return uint64(max(0, min((x/reach(g.scale)+1)/2*rows, rows-1)))
}

// cell returns the rows of a point's coordinates.
func (g grid) cell(p *graph.Point) (rows [3]uint64) {
	for d, x := range [3]float64{p.X, p.Y, p.Z} {
		if d < g.dims {
			rows[d] = g.row(x)
		}
	}
	return rows
}

// place interleaves the bits of rows, the first coordinate first, after the scale.
func (g grid) place(rows [3]uint64) uint64 {
	on := uint64(g.scale)
	for bit := g.bits - 1; bit >= 0; bit-- {
		for d := range g.dims {
			on = on<<1 | rows[d]>>bit&1
		}
	}
	return on
}
