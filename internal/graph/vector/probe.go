package vector

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

// lanes is the number of sums that a kernel adds up side by side.
const lanes = 32

// Stride returns how many 32-bit floats a packed vector of so many dimensions takes.
func Stride(dimensions int) int { return (dimensions + lanes - 1) &^ (lanes - 1) }

// Dimensions returns the number of coordinates of a Vector or elements of a List, and -1 for any other value.
func Dimensions(v graph.Value) int {
	switch v.Kind() {
	case graph.VectorKind:
		return v.Vector().Dimensions()
	case graph.List:
		return len(v.List())
	}
	return -1
}

// Pack appends the coordinates of a Vector or a List to dst, as Stride says. ok is false, and dst as it was, for any other value, and unless
// a list has numbers alone that are finite as 32-bit floats and, but for a list of zeros, not all too small for one.
func Pack(dst []float32, v graph.Value) (packed []float32, ok bool) {
	at := len(dst)
	most := 0.0
	if v.Kind() == graph.VectorKind {
		dst, most = v.Vector().AppendFloat32(dst)
		return Fill(dst, at, most)
	}
	if v.Kind() != graph.List {
		return dst, false
	}
	list := v.List()
	for i := range list {
		if !list[i].IsNumber() {
			return dst[:at], false
		}
		x := list[i].Number()
		most = max(most, math.Abs(x)) // NaN stays
		dst = append(dst, float32(x))
	}
	return Fill(dst, at, most)
}

// Fill makes the coordinates at and after dst[at], whose greatest absolute value is most before it is rounded, a packed vector. ok is false,
// and dst[:at] returned, if there are none or they cannot be packed.
func Fill(dst []float32, at int, most float64) (packed []float32, ok bool) {
	if len(dst) == at || most != 0 && !(smallest <= most && most <= math.MaxFloat32) {
		return dst[:at], false
	}
	return pad(dst, len(dst)-at), true
}

// smallest is the least normal 32-bit float.
const smallest = 0x1p-126

func pad(dst []float32, dimensions int) []float32 {
	for range Stride(dimensions) - dimensions {
		dst = append(dst, 0)
	}
	return dst
}

// Length returns the Euclidean norm of a packed vector.
func Length(x []float32) float64 { return math.Sqrt(square(x)) }

// Probe is a vector that a similarity compares with many others. It is for one goroutine.
type Probe struct {
	by         graph.Similarity
	dimensions int
	coords     []float64 // packed, each exact as a 32-bit float
	length     float64   // by the Euclidean norm
	other      []float32 // scratch memory of Score
}

// Set makes the probe a vector, copied from a Vector or a List. It reports whether the value is a vector for the similarity: one or more
// numbers, each finite as a 32-bit float, or, for the cosine, of finite length above 0.
func (p *Probe) Set(by graph.Similarity, v graph.Value) bool {
	x, length, ok := p.load(by, v)
	p.set(by, Dimensions(v), x, length)
	return ok
}

// SetCoordinates is Set for another probe's coordinates.
func (p *Probe) SetCoordinates(by graph.Similarity, coords []float32) bool {
	most := 0.0
	p.other = append(p.other[:0], coords...)
	for _, c := range coords {
		most = max(most, math.Abs(float64(c)))
	}
	var ok bool
	if p.other, ok = Fill(p.other, 0, most); !ok {
		return false
	}
	p.set(by, len(coords), p.other, Length(p.other))
	return by == graph.Euclidean || p.length > 0
}

func (p *Probe) set(by graph.Similarity, dimensions int, x []float32, length float64) {
	p.by, p.dimensions, p.length, p.coords = by, dimensions, length, p.coords[:0]
	for _, c := range x {
		p.coords = append(p.coords, float64(c))
	}
}

// By returns the similarity.
func (p *Probe) By() graph.Similarity { return p.by }

// Dimensions returns the number of the probe's coordinates.
func (p *Probe) Dimensions() int { return p.dimensions }

// Coordinates returns the probe's coordinates.
func (p *Probe) Coordinates() []float32 {
	out := make([]float32, p.dimensions)
	for i := range out {
		out[i] = float32(p.coords[i])
	}
	return out
}

// load packs a value into p.other. A vector that only the cosine takes, because it is too long or too short for 32-bit floats, is scaled by a
// power of two, which changes no angle.
func (p *Probe) load(by graph.Similarity, v graph.Value) (x []float32, length float64, ok bool) {
	if p.other, ok = Pack(p.other[:0], v); !ok {
		if by == graph.Euclidean || !p.scale(v) {
			return p.other, 0, false
		}
	}
	if by == graph.Euclidean {
		return p.other, 0, true
	}
	length = Length(p.other)
	return p.other, length, length > 0
}

// scale packs a value so that its greatest coordinate is below 1. It reports false unless the value has numbers alone and its length is a
// positive, finite 64-bit float.
func (p *Probe) scale(v graph.Value) bool {
	var list []graph.Value
	switch v.Kind() {
	case graph.VectorKind:
		list = v.Vector().List()
	case graph.List:
		list = v.List()
	}
	most, sum := 0.0, 0.0
	for i := range list {
		if !list[i].IsNumber() {
			return false
		}
		x := list[i].Number()
		most, sum = max(most, math.Abs(x)), sum+x*x
	}
	if !(sum > 0 && sum <= math.MaxFloat64) {
		return false
	}
	_, exp := math.Frexp(most)
	p.other = p.other[:0]
	for i := range list {
		p.other = append(p.other, float32(math.Ldexp(list[i].Number(), -exp)))
	}
	p.other = pad(p.other, len(list))
	return true
}

// Score returns the similarity of the probe and a value of as many dimensions, rounded to a 32-bit float as Neo4j's scores are. ok is
// false if the value is no vector for the similarity.
func (p *Probe) Score(v graph.Value) (score float64, ok bool) {
	x, length, ok := p.load(p.by, v)
	if !ok {
		return 0, false
	}
	return p.Packed(x, length)
}

// Packed returns the similarity of the probe and a packed vector of as many dimensions and of this length, which the Euclidean distance
// ignores. ok is false if that is no vector for the similarity.
func (p *Probe) Packed(x []float32, length float64) (score float64, ok bool) {
	if p.by == graph.Euclidean {
		return float64(float32(1 / (1 + squareDistance(x, p.coords)))), true
	}
	if length == 0 {
		return 0, false
	}
	cos := dot(x, p.coords) / p.length / length
	return float64(float32(min(max((1+cos)/2, 0), 1))), true
}
