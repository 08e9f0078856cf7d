package graph

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// AppendWKT appends a point as extended well-known text, as Neo4j's Query API does: SRID=4326;POINT (12.5 55.7).
func (p *Point) AppendWKT(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, "SRID="...), int64(p.CRS), 10)
	dst = append(dst, ";POINT "...)
	if p.CRS.Dimensions() == 3 {
		dst = append(dst, "Z "...)
	}
	for i, c := range p.Coordinates() {
		dst = append(dst, "( "[min(i, 1)])
		n := len(dst)
		dst = strconv.AppendFloat(dst, c, 'f', -1, 64)
		if !strings.Contains(string(dst[n:]), ".") {
			dst = append(dst, ".0"...)
		}
	}
	return append(dst, ')')
}

var errPoint = errors.New("a point is written as SRID=4326;POINT (12.5 55.7), as {latitude: 55.7, longitude: 12.5}, or as {x: 1, y: 2}")

// ParsePoint parses a point: well-known text with or without SRID, the arguments of point() in braces (as in neo4j-admin's files:
// {latitude: 55.7, longitude: 12.5}), or the output of toString().
func ParsePoint(text string) (Point, error) { return ParsePointIn(text, 0) }

// ParsePointIn parses a point in a coordinate reference system, or in another one that the text names. 0 is that of the coordinates.
func ParsePointIn(text string, crs CRS) (Point, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "point("); ok {
		text = strings.TrimSpace(strings.TrimSuffix(inner, ")"))
	}
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		return parseProperties(text[1:len(text)-1], crs)
	}
	return parseWKT(text, crs)
}

// parseWKT parses [SRID=n;]POINT [Z] (x y [z]).
func parseWKT(text string, crs CRS) (Point, error) {
	if rest, ok := cutFold(text, "SRID="); ok {
		number, after, ok := strings.Cut(rest, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 16)
		if !ok || err != nil {
			return Point{}, errPoint
		}
		crs, text = CRS(n), strings.TrimSpace(after)
	}
	rest, ok := cutFold(text, "POINT")
	if !ok {
		return Point{}, errPoint
	}
	rest = strings.TrimSpace(rest)
	if z, ok := cutFold(rest, "Z"); ok {
		rest = strings.TrimSpace(z)
	}
	inner, ok := strings.CutPrefix(rest, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	if !ok || !closed {
		return Point{}, errPoint
	}
	var c []float64
	for f := range strings.FieldsSeq(inner) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return Point{}, errPoint
		}
		c = append(c, x)
	}
	if crs == 0 {
		crs = Cartesian
		if len(c) == 3 {
			crs = Cartesian3D
		}
	}
	return MakePoint(crs, c...)
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// parseProperties parses name: value, ….
func parseProperties(text string, crs CRS) (Point, error) {
	var m []MapEntry
	if crs != 0 {
		m = append(m, MapEntry{Key: "srid", Value: IntValue(int64(crs))})
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, ":")
		name, value = strings.Trim(strings.TrimSpace(name), `'"`), strings.Trim(strings.TrimSpace(value), `'"`)
		if !ok {
			return Point{}, errPoint
		}
		v := StringValue(value)
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			v = FloatValue(f)
		}
		m = append(m, MapEntry{Key: name, Value: v})
	}
	return PointOf(MapValue(m))
}

// PointOf converts the arguments of point(): x, y and z, or longitude, latitude and height, with an optional crs or srid. It ignores other
// names.
func PointOf(m Value) (Point, error) {
	var c [3]float64
	var has [3]bool
	var crs CRS
	geographic := false
	for _, e := range m.Map() {
		var at int
		switch e.Key {
		case "x":
			at = 0
		case "y":
			at = 1
		case "z":
			at = 2
		case "longitude":
			at, geographic = 0, true
		case "latitude":
			at, geographic = 1, true
		case "height":
			at, geographic = 2, true
		case "crs":
			if e.Value.Kind() != String {
				return Point{}, errors.New("the crs of a point is a string")
			}
			var ok bool
			if crs, ok = ParseCRS(e.Value.Str()); !ok {
				return Point{}, fmt.Errorf("unknown coordinate reference system %q; supported are wgs-84, wgs-84-3d, cartesian and cartesian-3d", e.Value.Str())
			}
			continue
		case "srid":
			if !e.Value.IsNumber() {
				return Point{}, errors.New("the srid of a point is an integer")
			}
			if crs = CRS(e.Value.Number()); float64(crs) != e.Value.Number() || !crs.Valid() {
				return Point{}, fmt.Errorf("unknown coordinate reference system %v", e.Value.Number())
			}
			continue
		default:
			continue
		}
		if !e.Value.IsNumber() {
			return Point{}, fmt.Errorf("the %s of a point is a number", e.Key)
		}
		if has[at] {
			return Point{}, fmt.Errorf("a point has one of %s", [...]string{"x and longitude", "y and latitude", "z and height"}[at])
		}
		c[at], has[at] = e.Value.Number(), true
	}
	if !has[0] || !has[1] {
		return Point{}, errors.New("a point has x and y, or longitude and latitude")
	}
	n := 2
	if has[2] {
		n = 3
	}
	if crs == 0 {
		crs = map[bool]map[int]CRS{false: {2: Cartesian, 3: Cartesian3D}, true: {2: WGS84, 3: WGS843D}}[geographic][n]
	}
	if geographic && !crs.Geographic() {
		return Point{}, fmt.Errorf("a point of %s has x and y, not longitude and latitude", crs)
	}
	return MakePoint(crs, c[:n]...)
}
