package arrowstream

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// form is the representation of values in a column.
type form uint8

// If several forms can represent all values of a column, the first one is used.
const (
	nulls form = iota
	booleans
	integers
	floats
	texts
	binaries
	dates
	localTimes
	times
	localDateTimes       // in nanoseconds
	coarseLocalDateTimes // in microseconds
	dateTimes            // in nanoseconds, all in one zone
	coarseDateTimes      // in microseconds, all in one zone
	zonedDateTimes       // each with its zone
	durations
	points
	vectors // of one coordinate type and dimension
	lists
	records // maps with the same keys in the same order
	vertices
	edges
	paths
	coded // texts by their numbers in a dictionary; only of labels and types
	mixed // JSON text
)

// forms is a set of forms.
type forms uint32

const allForms = forms(1)<<(mixed+1) - 1

func set(fs ...form) (s forms) {
	for _, f := range fs {
		s |= 1 << f
	}
	return s
}

func (s forms) has(f form) bool { return s>>f&1 != 0 }

const (
	mostDepth    = 16      // of lists and maps represented by nested columns
	mostKeys     = 256     // of a map represented by a struct
	exactInteger = 1 << 53 // floats represent all integers up to this one exactly
)

// shape collects the requirements on a column.
type shape struct {
	can    forms
	depth  int
	elem   *shape     // of list elements
	keys   []string   // of maps
	kids   []*shape   // of the values of maps
	zone   string     // of the first instant
	vector vectorType // of the first vector
	zones  zones

	structs    bool     // vertices and edges have a field for each property
	names      []string // of the properties of vertices or edges, sorted
	properties []*shape // parallel to names
	nodes      *shape   // of the vertices of paths
	steps      *shape   // of the edges of paths
}

func newShape(depth int, structs bool) *shape {
	return &shape{can: allForms, depth: depth, structs: structs}
}

// child returns a shape for values inside of the column's.
func (s *shape) child() *shape { return newShape(s.depth+1, s.structs) }

// form returns the form for the values seen so far. A column with only nulls has the form nulls if it is complete; otherwise it must be
// able to represent anything.
func (s *shape) form(complete bool) form {
	if s.can == allForms {
		if complete {
			return nulls
		}
		return mixed
	}
	return form(bits.TrailingZeros32(uint32(s.can)))
}

func (s *shape) see(v graph.Value) {
	if v.IsNull() {
		return
	}
	s.can &= formsOf(v)
	switch v.Kind() {
	case graph.DateTime:
		z := s.zones.of(v.DateTime())
		if s.zone == "" {
			s.zone = z.text
		}
		if !z.typed || z.text != s.zone {
			s.can &^= set(dateTimes, coarseDateTimes)
		}
	case graph.VectorKind:
		t := vectorTypeOf(v.Vector())
		if s.vector.dimensions == 0 {
			s.vector = t
		}
		if t != s.vector {
			s.can &^= set(vectors)
		}
	case graph.List:
		s.seeList(v.List())
	case graph.Map:
		s.seeMap(v.Map())
	case graph.VertexKind:
		s.seeElement(v.Record())
	case graph.EdgeKind:
		s.seeElement(v.Edge().Record)
	case graph.PathKind:
		s.seePath(v.Path())
	}
}

// seeElement collects the properties of a vertex or an edge.
func (s *shape) seeElement(rec *graph.Record) {
	if !s.structs || rec == nil || !s.can.has(vertices) && !s.can.has(edges) {
		return
	}
	for i, k := range rec.Keys {
		at, found := slices.BinarySearch(s.names, k)
		if !found {
			if len(s.names) == mostKeys {
				continue
			}
			s.names, s.properties = slices.Insert(s.names, at, k), slices.Insert(s.properties, at, s.child())
		}
		s.properties[at].see(rec.Values[i])
	}
}

func (s *shape) seePath(p *graph.Path) {
	if !s.structs {
		return
	}
	if s.nodes == nil {
		s.nodes, s.steps = s.child(), s.child()
	}
	for _, v := range p.Vertices {
		s.nodes.see(v)
	}
	for _, e := range p.Edges {
		s.steps.see(e)
	}
}

// vectorType is what the vectors of a column share.
type vectorType struct {
	coordinates graph.CoordinateType
	dimensions  int
}

func vectorTypeOf(v graph.Vector) vectorType { return vectorType{v.Type, v.Dimensions()} }

func (s *shape) seeList(list []graph.Value) {
	if s.depth == mostDepth {
		s.can &^= set(lists)
	}
	if !s.can.has(lists) {
		return
	}
	if s.elem == nil {
		s.elem = s.child()
	}
	for _, e := range list {
		s.elem.see(e)
	}
}

func (s *shape) seeMap(entries []graph.MapEntry) {
	if !s.can.has(records) {
		return
	}
	if s.kids == nil && s.depth < mostDepth && len(entries) <= mostKeys {
		for _, e := range entries {
			s.keys = append(s.keys, e.Key)
			s.kids = append(s.kids, s.child())
		}
	}
	if len(entries) == 0 || !sameKeys(s.keys, entries) {
		s.can &^= set(records)
		return
	}
	for i, e := range entries {
		s.kids[i].see(e.Value)
	}
}

func sameKeys(keys []string, entries []graph.MapEntry) bool {
	return slices.EqualFunc(keys, entries, func(k string, e graph.MapEntry) bool { return k == e.Key })
}

// formsOf returns the forms that represent a value without loss. For a list or a map, the form also depends on its contents.
func formsOf(v graph.Value) forms {
	fs := set(mixed)
	switch v.Kind() {
	case graph.Null:
		return allForms
	case graph.Bool:
		fs |= set(booleans)
	case graph.Int:
		fs |= set(integers)
		if exactFloat(v.Int()) {
			fs |= set(floats)
		}
	case graph.Float:
		fs |= set(floats)
	case graph.String:
		fs |= set(texts)
	case graph.Bytes:
		fs |= set(binaries)
	case graph.Date:
		if d := v.Date(); math.MinInt32 <= d && d <= math.MaxInt32 {
			fs |= set(dates)
		}
	case graph.LocalTime:
		fs |= set(localTimes)
	case graph.Time:
		fs |= set(times)
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		if _, ok := nanoseconds(t.Sec, t.Nano); ok {
			fs |= set(localDateTimes)
		}
		if _, ok := microseconds(t.Sec, t.Nano); ok {
			fs |= set(coarseLocalDateTimes)
		}
	case graph.DateTime:
		t := v.DateTime()
		if _, ok := nanoseconds(t.Sec, t.Nano); ok {
			fs |= set(dateTimes, zonedDateTimes)
		}
		if _, ok := microseconds(t.Sec, t.Nano); ok {
			fs |= set(coarseDateTimes)
		}
	case graph.Duration:
		fs |= set(durations)
	case graph.PointKind:
		fs |= set(points)
	case graph.VectorKind:
		fs |= set(vectors)
	case graph.List:
		fs |= set(lists)
	case graph.Map:
		fs |= set(records)
	case graph.VertexKind:
		fs |= set(vertices)
	case graph.EdgeKind:
		fs |= set(edges)
	case graph.PathKind:
		fs |= set(paths)
	}
	return fs
}

func exactFloat(n int64) bool { return -exactInteger <= n && n <= exactInteger }

// nanoseconds returns an instant as nanoseconds since the epoch; ok is false on overflow.
func nanoseconds(sec int64, nano int32) (int64, bool) {
	const limit = math.MaxInt64/int64(time.Second) - 1
	return sec*int64(time.Second) + int64(nano), -limit <= sec && sec <= limit
}

// microseconds returns an instant as microseconds since the epoch; ok is false on overflow or if it is inexact.
func microseconds(sec int64, nano int32) (int64, bool) {
	const limit = math.MaxInt64/1_000_000 - 1
	return sec*1_000_000 + int64(nano/1000), nano%1000 == 0 && -limit <= sec && sec <= limit
}

// zones returns the texts of zones. It caches the last one, because most instants of a column share their zone.
type zones struct {
	location *time.Location
	offset   int32
	text     string // "" before the first
	typed    bool   // usable as the zone of an Arrow type, whose offsets have no seconds
}

// of finds the zone of an instant.
func (z *zones) of(t temporal.DateTime) *zones {
	if z.text != "" && z.location == t.Zone && (t.Zone != nil || z.offset == t.Offset) {
		return z
	}
	*z = zones{location: t.Zone, offset: t.Offset, typed: t.Zone != nil || t.Offset%60 == 0}
	switch {
	case t.Zone != nil:
		z.text = t.Zone.String()
	case t.Offset == 0:
		z.text = "UTC"
	case z.typed:
		z.text = time.Time{}.In(time.FixedZone("", int(t.Offset))).Format("-07:00")
	default:
		z.text = time.Time{}.In(time.FixedZone("", int(t.Offset))).Format("-07:00:00")
	}
	return z
}
