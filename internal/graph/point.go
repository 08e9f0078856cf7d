package graph

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// CRS is a coordinate reference system, by its number in the EPSG registry or, if Cartesian, in Neo4j. The numbers are stored.
type CRS uint16

// The coordinate reference systems.
const (
	WGS84       CRS = 4326 // longitude and latitude in degrees
	WGS843D     CRS = 4979 // and height in metres
	Cartesian   CRS = 7203
	Cartesian3D CRS = 9157
)

var crsNames = map[CRS]string{WGS84: "wgs-84", WGS843D: "wgs-84-3d", Cartesian: "cartesian", Cartesian3D: "cartesian-3d"}

// String returns the system's name, for example wgs-84.
func (c CRS) String() string { return crsNames[c] }

// Valid reports whether the system exists.
func (c CRS) Valid() bool { return crsNames[c] != "" }

// Geographic reports whether the coordinates are longitude, latitude and height.
func (c CRS) Geographic() bool { return c == WGS84 || c == WGS843D }

// Dimensions returns 2 or 3.
func (c CRS) Dimensions() int {
	if c == WGS843D || c == Cartesian3D {
		return 3
	}
	return 2
}

// ParseCRS finds a system by its name, ignoring case.
func ParseCRS(name string) (CRS, bool) {
	for c, n := range crsNames {
		if strings.EqualFold(n, name) {
			return c, true
		}
	}
	return 0, false
}

// Point is a point in two or three dimensions.
type Point struct {
	CRS     CRS
	X, Y, Z float64 // Z is 0 in two dimensions
}

// MakePoint returns a point. It fails if the system has another number of coordinates, if one is not finite, or if a latitude is beyond a
// pole; it normalises longitudes beyond the date line.
func MakePoint(crs CRS, coordinates ...float64) (Point, error) {
	if !crs.Valid() {
		return Point{}, fmt.Errorf("unknown coordinate reference system %d; supported are wgs-84 (4326), wgs-84-3d (4979), cartesian (7203) and cartesian-3d (9157)", crs)
	}
	if len(coordinates) != crs.Dimensions() {
		return Point{}, fmt.Errorf("a point of %s has %d coordinates, not %d", crs, crs.Dimensions(), len(coordinates))
	}
	for _, c := range coordinates {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return Point{}, fmt.Errorf("a coordinate of a point is a finite number, not %v", c)
		}
	}
	p := Point{CRS: crs, X: coordinates[0] + 0, Y: coordinates[1] + 0} // + 0 converts -0 to 0
	if len(coordinates) == 3 {
		p.Z = coordinates[2] + 0
	}
	if crs.Geographic() {
		if p.Y < -90 || p.Y > 90 {
			return Point{}, fmt.Errorf("a latitude is from -90 to 90, not %v", p.Y)
		}
		if p.X < -180 || p.X > 180 {
			if p.X = math.Remainder(p.X, 360) + 0; p.X == -180 {
				p.X = 180
			}
		}
	}
	return p, nil
}

// Coordinates returns x, y and, in three dimensions, z.
func (p *Point) Coordinates() []float64 {
	return []float64{p.X, p.Y, p.Z}[:p.CRS.Dimensions()]
}

// Component returns a component of the point: x, y, z, longitude, latitude, height, crs or srid. ok is false if the system lacks it.
func (p *Point) Component(name string) (Value, bool) {
	geographic := p.CRS.Geographic()
	switch name {
	case "x":
		return FloatValue(p.X), true
	case "y":
		return FloatValue(p.Y), true
	case "longitude":
		return FloatValue(p.X), geographic
	case "latitude":
		return FloatValue(p.Y), geographic
	case "z":
		return FloatValue(p.Z), p.CRS.Dimensions() == 3
	case "height":
		return FloatValue(p.Z), geographic && p.CRS.Dimensions() == 3
	case "crs":
		return StringValue(p.CRS.String()), true
	case "srid":
		return IntValue(int64(p.CRS)), true
	}
	return Value{}, false
}

// Compare orders points by system and then by coordinate.
func (p *Point) Compare(o *Point) int {
	for _, d := range [...]float64{float64(p.CRS) - float64(o.CRS), compareFloats(p.X, o.X), compareFloats(p.Y, o.Y), compareFloats(p.Z, o.Z)} {
		switch {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
	}
	return 0
}

func compareFloats(a, b float64) float64 {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Append appends the point as openCypher's toString writes it: point({x: 1.0, y: 2.0, crs: 'cartesian'}).
func (p *Point) Append(dst []byte) []byte {
	names := [...]string{"x", "y", "z"}
	if p.CRS.Geographic() {
		names = [...]string{"longitude", "latitude", "height"}
	}
	dst = append(dst, "point({"...)
	for i, c := range p.Coordinates() {
		dst = append(append(dst, names[i]...), ": "...)
		n := len(dst)
		dst = strconv.AppendFloat(dst, c, 'f', -1, 64)
		if !strings.Contains(string(dst[n:]), ".") {
			dst = append(dst, ".0"...)
		}
		dst = append(dst, ", "...)
	}
	dst = append(append(dst, "crs: '"...), p.CRS.String()...)
	return append(dst, "'})"...)
}

// PointValue returns a Point.
func PointValue(p Point) Value { return Value{kind: PointKind, ptr: unsafe.Pointer(&p)} }

// Point returns a Point, which callers must not modify.
func (v Value) Point() *Point { return (*Point)(v.ptr) }

// BytesValue returns a byte array that shares b.
func BytesValue(b []byte) Value {
	return Value{kind: Bytes, num: uint64(len(b)), ptr: unsafe.Pointer(unsafe.SliceData(b))}
}

// Bytes returns a byte array, which callers must not modify.
func (v Value) Bytes() []byte { return unsafe.Slice((*byte)(v.ptr), int(v.num)) }
