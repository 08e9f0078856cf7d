package fn

import (
	"bytes"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

// Equal is a = b. It is Unknown where a null decides, and False between values of different types; integers and floats
// are compared by their exact numbers, and NaN equals nothing.
func Equal(a, b graph.Value) Ternary {
	ka, kb := a.Kind(), b.Kind()
	if ka == graph.Null || kb == graph.Null {
		return Unknown
	}
	if ka != kb {
		switch {
		case ka == graph.Int && kb == graph.Float:
			return TernaryOf(graph.CompareIntFloat(a.Int(), b.Float()) == 0)
		case ka == graph.Float && kb == graph.Int:
			return TernaryOf(graph.CompareIntFloat(b.Int(), a.Float()) == 0)
		}
		return False
	}
	switch ka {
	case graph.List:
		return equalLists(a.List(), b.List())
	case graph.Map:
		return equalMaps(a, b)
	case graph.Float:
		return TernaryOf(a.Float() == b.Float())
	}
	return TernaryOf(sameScalar(ka, a, b))
}

// sameScalar compares two values of one kind that cannot hold a null or a NaN.
func sameScalar(k graph.ValueKind, a, b graph.Value) bool {
	switch k {
	case graph.Bool:
		return a.Bool() == b.Bool()
	case graph.Int:
		return a.Int() == b.Int()
	case graph.String:
		return a.Str() == b.Str()
	case graph.Date:
		return a.Date() == b.Date()
	case graph.LocalTime:
		return a.LocalTime() == b.LocalTime()
	case graph.Time:
		return a.Time() == b.Time()
	case graph.LocalDateTime:
		return a.LocalDateTime() == b.LocalDateTime()
	case graph.DateTime:
		return a.DateTime().Compare(b.DateTime()) == 0
	case graph.Duration:
		return a.Duration() == b.Duration()
	case graph.PointKind:
		return *a.Point() == *b.Point()
	case graph.VectorKind:
		x, y := a.Vector(), b.Vector()
		return x.Type == y.Type && bytes.Equal(x.Data, y.Data)
	case graph.Bytes:
		return bytes.Equal(a.Bytes(), b.Bytes())
	case graph.VertexKind:
		return a.Vertex() == b.Vertex()
	case graph.EdgeKind:
		return a.EdgeID() == b.EdgeID()
	case graph.PathKind:
		return comparePaths(a.Path(), b.Path()) == 0
	}
	return false
}

func equalLists(a, b []graph.Value) Ternary {
	if len(a) != len(b) {
		return False
	}
	all := True
	for i := range a {
		if all = all.And(Equal(a[i], b[i])); all == False {
			break
		}
	}
	return all
}

func equalMaps(a, b graph.Value) Ternary {
	ma, mb := a.Map(), b.Map()
	if len(ma) != len(mb) {
		return False
	}
	all := True
	for i := range ma {
		v, ok := lookup(mb, ma[i].Key, i)
		if !ok {
			return False
		}
		all = all.And(Equal(ma[i].Value, v))
	}
	return all
}

// lookup finds a key, trying the place hint first, since maps compared with one another often have one layout.
func lookup(m []graph.MapEntry, key string, hint int) (graph.Value, bool) {
	if hint < len(m) && m[hint].Key == key {
		return m[hint].Value, true
	}
	for i := range m {
		if m[i].Key == key {
			return m[i].Value, true
		}
	}
	return graph.Value{}, false
}

// EqualsItself reports whether a value is equal to itself: null and NaN are not, nor lists and maps that hold one.
func EqualsItself(v graph.Value) bool {
	switch v.Kind() {
	case graph.Null:
		return false
	case graph.Float:
		return !math.IsNaN(v.Float())
	case graph.List, graph.Map:
		return Equal(v, v) == True
	}
	return true
}

// Equivalent reports whether DISTINCT, grouping and UNION treat two values as one: they are equal, both null or both NaN, also
// inside lists and maps.
func Equivalent(a, b graph.Value) bool {
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		return Equal(a, b) == True
	}
	switch ka {
	case graph.Null:
		return true
	case graph.Float:
		x, y := a.Float(), b.Float()
		return x == y || math.IsNaN(x) && math.IsNaN(y)
	case graph.List:
		la, lb := a.List(), b.List()
		if len(la) != len(lb) {
			return false
		}
		for i := range la {
			if !Equivalent(la[i], lb[i]) {
				return false
			}
		}
		return true
	case graph.Map:
		ma, mb := a.Map(), b.Map()
		if len(ma) != len(mb) {
			return false
		}
		for i := range ma {
			if v, ok := lookup(mb, ma[i].Key, i); !ok || !Equivalent(ma[i].Value, v) {
				return false
			}
		}
		return true
	}
	return sameScalar(ka, a, b)
}
