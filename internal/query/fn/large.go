package fn

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

const (
	largeText = 1 << 10 // bytes
	largeList = 64      // elements
)

// Large reports whether it takes a while to read all of a value.
func Large(v graph.Value) bool {
	switch v.Kind() {
	case graph.String:
		return len(v.Str()) >= largeText
	case graph.Bytes:
		return len(v.Bytes()) >= largeText
	case graph.VectorKind:
		return len(v.Vector().Data) >= largeText
	case graph.List:
		l := v.List()
		if len(l) >= largeList {
			return true
		}
		return slices.ContainsFunc(l, Large)
	case graph.Map:
		m := v.Map()
		if len(m) >= largeList {
			return true
		}
		for _, e := range m {
			if Large(e.Value) {
				return true
			}
		}
	case graph.PathKind:
		return len(v.Path().Edges) >= largeList
	}
	return false
}
