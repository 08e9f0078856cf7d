package fn

import (
	"hash/maphash"
	"math"
	"math/bits"

	"github.com/hopgate/hopgate/internal/graph"
)

var seed = maphash.MakeSeed()

// Hash returns equal numbers to Equivalent values. It differs from one process to the next.
func Hash(v graph.Value) uint64 {
	k := v.Kind()
	switch k {
	case graph.Int:
		return mix(uint64(v.Int()), uint64(graph.Int))
	case graph.String:
		return maphash.String(seed, v.Str())
	case graph.Float:
		return hashFloat(v.Float())
	case graph.Bool:
		if v.Bool() {
			return mix(1, uint64(k))
		}
		return mix(0, uint64(k))
	case graph.VertexKind:
		return mix(uint64(v.Vertex()), uint64(k))
	case graph.EdgeKind:
		return mix(uint64(v.EdgeID()), uint64(k))
	case graph.Date:
		return mix(uint64(v.Date()), uint64(k))
	case graph.LocalTime:
		return mix(uint64(v.LocalTime()), uint64(k))
	}
	return hashSlow(v, k)
}

// hashFloat returns a float that is a whole number the hash of that integer, and all NaN one hash.
func hashFloat(f float64) uint64 {
	if f >= -1<<63 && f < 1<<63 {
		if i := int64(f); float64(i) == f {
			return mix(uint64(i), uint64(graph.Int))
		}
	}
	if math.IsNaN(f) {
		return mix(0, uint64(graph.Float))
	}
	return mix(math.Float64bits(f), uint64(graph.Float))
}

func hashSlow(v graph.Value, k graph.ValueKind) uint64 {
	h := uint64(k)
	switch k {
	case graph.List:
		for _, e := range v.List() {
			h = mix(h, Hash(e))
		}
	case graph.Map:
		sum := uint64(len(v.Map()))
		for _, e := range v.Map() {
			sum += mix(maphash.String(seed, e.Key), Hash(e.Value))
		}
		h = mix(h, sum)
	case graph.Time:
		t := v.Time()
		h = mix(mix(h, uint64(t.Local)), uint64(t.Offset))
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		h = mix(mix(h, uint64(t.Sec)), uint64(t.Nano))
	case graph.DateTime:
		t := v.DateTime()
		h = mix(mix(h, uint64(t.Sec)), uint64(t.Nano))
	case graph.Duration:
		d := v.Duration()
		h = mix(mix(mix(mix(h, uint64(d.Months)), uint64(d.Days)), uint64(d.Seconds)), uint64(d.Nanos))
	case graph.PointKind:
		p := v.Point()
		h = mix(h, uint64(p.CRS))
		for _, c := range [...]float64{p.X, p.Y, p.Z} {
			h = mix(h, math.Float64bits(c))
		}
	case graph.VectorKind:
		h = mix(mix(h, uint64(v.Vector().Type)), maphash.Bytes(seed, v.Vector().Data))
	case graph.Bytes:
		h = mix(h, maphash.Bytes(seed, v.Bytes()))
	case graph.PathKind:
		p := v.Path()
		h = mix(h, uint64(len(p.Edges)))
		for _, n := range p.Vertices {
			h = mix(h, uint64(n.Vertex()))
		}
		for _, e := range p.Edges {
			h = mix(h, uint64(e.EdgeID()))
		}
	}
	return h
}

// mix folds two words into one by a multiplication of 128 bits.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, bits.RotateLeft64(b, 32)^0xd1b54a32d192ed03)
	return hi ^ lo
}
