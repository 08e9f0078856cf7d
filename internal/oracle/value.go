package oracle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// indexKey returns a string that is the same for two values exactly where openCypher's = is true of them. A null, a NaN
// and a list that holds one equal nothing: they have no key.
func indexKey(dst []byte, v graph.Value) ([]byte, bool) {
	word := func(kind graph.ValueKind, ns ...int64) []byte {
		dst = append(dst, byte(kind))
		for _, n := range ns {
			dst = binary.BigEndian.AppendUint64(dst, uint64(n))
		}
		return dst
	}
	switch v.Kind() {
	case graph.Bool:
		if v.Bool() {
			return word(graph.Bool, 1), true
		}
		return word(graph.Bool, 0), true
	case graph.Int:
		return word(graph.Int, v.Int()), true
	case graph.Float:
		f := v.Float()
		if math.IsNaN(f) {
			return dst, false
		}
		if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
			return word(graph.Int, int64(f)), true
		}
		return word(graph.Float, int64(math.Float64bits(f))), true
	case graph.String:
		return append(word(graph.String, int64(len(v.Str()))), v.Str()...), true
	case graph.Date:
		return word(graph.Date, int64(v.Date())), true
	case graph.LocalTime:
		return word(graph.LocalTime, int64(v.LocalTime())), true
	case graph.Time:
		t := v.Time()
		return word(graph.Time, int64(t.Local), int64(t.Offset)), true
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		return word(graph.LocalDateTime, t.Sec, int64(t.Nano)), true
	case graph.DateTime:
		t := v.DateTime()
		dst = word(graph.DateTime, t.Sec, int64(t.Nano), int64(t.Offset))
		return append(append(dst, t.ZoneName()...), 0), true
	case graph.Duration:
		d := v.Duration()
		return word(graph.Duration, d.Months, d.Days, d.Seconds, int64(d.Nanos)), true
	case graph.PointKind:
		p := v.Point()
		return word(graph.PointKind, int64(p.CRS), int64(math.Float64bits(p.X)), int64(math.Float64bits(p.Y)), int64(math.Float64bits(p.Z))), true
	case graph.VectorKind:
		x := v.Vector()
		return append(word(graph.VectorKind, int64(x.Type), int64(len(x.Data))), x.Data...), true
	case graph.Bytes:
		return append(word(graph.Bytes, int64(len(v.Bytes()))), v.Bytes()...), true
	case graph.List:
		dst = word(graph.List, int64(len(v.List())))
		for _, e := range v.List() {
			var ok bool
			if dst, ok = indexKey(dst, e); !ok {
				return dst, false
			}
		}
		return dst, true
	}
	return dst, false
}

// tupleKey is indexKey for a tuple.
func tupleKey(vs []graph.Value) (string, bool) {
	var dst []byte
	for _, v := range vs {
		var ok bool
		if dst, ok = indexKey(dst, v); !ok {
			return "", false
		}
	}
	return string(dst), true
}

// compare orders two values of one type; ok is false if openCypher's < and >, or for durations <= and >=, return null.
func compare(a, b graph.Value) (c int, ok bool) {
	if a.IsNumber() && b.IsNumber() {
		return compareNumbers(a, b)
	}
	if a.Kind() != b.Kind() {
		return 0, false
	}
	switch a.Kind() {
	case graph.Bool:
		return compareBools(a.Bool(), b.Bool()), true
	case graph.String:
		return strings.Compare(a.Str(), b.Str()), true
	case graph.Date:
		return cmp.Compare(a.Date(), b.Date()), true
	case graph.LocalTime:
		return cmp.Compare(a.LocalTime(), b.LocalTime()), true
	case graph.Time:
		return a.Time().Compare(b.Time()), true
	case graph.LocalDateTime:
		return a.LocalDateTime().Compare(b.LocalDateTime()), true
	case graph.DateTime:
		return a.DateTime().Compare(b.DateTime()), true
	case graph.Duration:
		return 0, a.Duration() == b.Duration()
	case graph.Bytes:
		return bytes.Compare(a.Bytes(), b.Bytes()), true
	case graph.List:
		for i := range min(len(a.List()), len(b.List())) {
			if c, ok := compare(a.List()[i], b.List()[i]); !ok || c != 0 {
				return c, ok
			}
		}
		return cmp.Compare(len(a.List()), len(b.List())), true
	}
	return 0, false
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func compareNumbers(a, b graph.Value) (int, bool) {
	switch {
	case a.Kind() == graph.Int && b.Kind() == graph.Int:
		return cmp.Compare(a.Int(), b.Int()), true
	case a.Kind() == graph.Float && b.Kind() == graph.Float:
		if math.IsNaN(a.Float()) || math.IsNaN(b.Float()) {
			return 0, false
		}
		return cmp.Compare(a.Float(), b.Float()), true
	case a.Kind() == graph.Float:
		c, ok := compareNumbers(b, a)
		return -c, ok
	}
	f := b.Float()
	switch {
	case math.IsNaN(f):
		return 0, false
	case f >= 1<<63:
		return -1, true
	case f < -1<<63:
		return 1, true
	}
	if c := cmp.Compare(a.Int(), int64(f)); c != 0 { // The conversion truncates towards zero.
		return c, true
	}
	return cmp.Compare(0, f-math.Trunc(f)), true
}

// orderOfTypes is openCypher's order of the types that properties have.
var orderOfTypes = []graph.ValueKind{
	graph.List, graph.VectorKind, graph.Bytes, graph.PointKind, graph.DateTime, graph.LocalDateTime, graph.Date, graph.Time, graph.LocalTime, graph.Duration, graph.String,
	graph.Bool, graph.Int,
}

// orderValues is openCypher's order of the values that properties have.
func orderValues(a, b graph.Value) int {
	rank := func(v graph.Value) int {
		if v.Kind() == graph.Float {
			return slices.Index(orderOfTypes, graph.Int)
		}
		return slices.Index(orderOfTypes, v.Kind())
	}
	isNaN := func(v graph.Value) bool { return v.Kind() == graph.Float && math.IsNaN(v.Float()) }
	switch {
	case a.Kind() == graph.List && b.Kind() == graph.List:
		for i := range min(len(a.List()), len(b.List())) {
			if c := orderValues(a.List()[i], b.List()[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a.List()), len(b.List()))
	case a.Kind() == graph.VectorKind && b.Kind() == graph.VectorKind:
		return a.Vector().Compare(b.Vector())
	case a.Kind() == graph.Duration && b.Kind() == graph.Duration:
		return a.Duration().Compare(b.Duration())
	case isNaN(a) || isNaN(b):
		return cmp.Or(cmp.Compare(rank(a), rank(b)), compareBools(isNaN(a), isNaN(b)))
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	c, _ := compare(a, b)
	return c
}

// storable reports whether a value may be a property: no map, vertex, edge or path, and no list that contains one.
func storable(v graph.Value) bool {
	switch v.Kind() {
	case graph.Map, graph.VertexKind, graph.EdgeKind, graph.PathKind:
		return false
	case graph.List:
		for _, e := range v.List() {
			if e.IsNull() || !storable(e) {
				return false
			}
		}
	}
	return true
}
