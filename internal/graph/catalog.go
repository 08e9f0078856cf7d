package graph

import (
	"slices"
	"strconv"
	"time"
)

// Catalog knows the names of one graph. Names get numbers when they are first written and keep them for ever, so a
// Catalog may be read at any time without a transaction. All methods are safe for concurrent use and cheap.
type Catalog interface {
	Label(name string) (LabelID, bool)
	LabelName(LabelID) string
	Type(name string) (TypeID, bool)
	TypeName(TypeID) string
	Prop(name string) (PropID, bool)
	PropName(PropID) string
	// Labels gives the members of a label set in ascending order; it must not be changed.
	Labels(LabelSet) []LabelID
	// AllLabels, AllTypes and AllProps give the known names in order of their numbers.
	AllLabels() []string
	AllTypes() []string
	AllProps() []string
	// Indexes gives the indexes and constraints; it must not be changed.
	Indexes() []Index
	// Version grows with every change to Indexes.
	Version() uint64
}

// IndexKind is what an index is good for. The numbers are sent between processes.
type IndexKind uint8

// The kinds of indexes.
const (
	// RangeIndex finds equal values and intervals, and gives what it holds in the order of the values.
	RangeIndex IndexKind = iota
	// PointIndex holds points alone and finds those in a box or near another.
	PointIndex
)

var indexKinds = [...]string{RangeIndex: "RANGE", PointIndex: "POINT"}

// String gives the kind as Cypher writes it.
func (k IndexKind) String() string {
	if int(k) < len(indexKinds) {
		return indexKinds[k]
	}
	return "INDEX KIND " + strconv.Itoa(int(k))
}

// Provider is what Neo4j calls its implementation of the kind; clients compare it.
func (k IndexKind) Provider() string {
	if k == PointIndex {
		return "point-1.0"
	}
	return "range-1.0"
}

// ParseIndexKind finds a kind by its name.
func ParseIndexKind(name string) (IndexKind, bool) {
	k := slices.Index(indexKinds[:], name)
	return IndexKind(max(k, 0)), k >= 0
}

// Index is an index or a constraint over the vertices of a label, or, with Type set, over the edges of a type.
type Index struct {
	ID    IndexID
	Name  string
	Label string // of vertices, or "" for an index over edges
	Type  string // of edges, or ""
	Props []string
	Kind  IndexKind
	// Unique says that no two vertices have equal values; Required that every property must be there. An index that is
	// neither is plain; both together are a node key.
	Unique, Required bool
	// Indexed is false for a pure existence constraint, which has no entries.
	Indexed bool
	// Online is false while the index is being built; it is then kept up to date but must not be read.
	Online bool
	// Failure says why the index could not be built; it is then neither kept nor read, and can only be dropped.
	Failure string
	// TTL makes this the order in which a TTL's vertices or edges expire instead of an index: TTL after the time that the one
	// property holds, or, without one, after the last write. Indexes does not give it.
	TTL time.Duration
}

// Clash gives the index of a list that ix cannot stand beside: one of the same name, or over the same properties with entries
// alike; nil if there is none.
func (ix *Index) Clash(list []Index) *Index {
	for i := range list {
		o := &list[i]
		bare := ix.Label == "" && ix.Type == ""
		same := !bare && o.Label == ix.Label && o.Type == ix.Type && o.Kind == ix.Kind && o.Indexed == ix.Indexed && slices.Equal(o.Props, ix.Props)
		if ix.Name != "" && o.Name == ix.Name || same {
			return o
		}
	}
	return nil
}

// Ordered reports whether the index has entries in the order of their values.
func (ix *Index) Ordered() bool { return ix.Indexed && ix.Kind == RangeIndex }

// IsConstraint reports whether the index restricts what may be written.
func (ix *Index) IsConstraint() bool { return ix.Unique || ix.Required }

// TTL makes the vertices of a label, or the edges of a type, expire.
type TTL struct {
	Label string // of vertices, or ""
	Type  string // of edges, or ""
	// After is how long they live: from the last write of their own labels and properties, or from the time that Property
	// holds.
	After time.Duration
	// Property, if it is not empty, holds a zoned date time, or a local one or a date in UTC, or a number of seconds since 1970,
	// from 1e11 on of milliseconds, from 1e14 on of microseconds and from 1e17 on of nanoseconds. What holds none does not
	// expire.
	Property string
}

// FindTTL gives the TTL of a label or a type, of which one is named; nil if it has none.
func FindTTL(list []TTL, label, typ string) *TTL {
	for i := range list {
		if list[i].Label == label && list[i].Type == typ {
			return &list[i]
		}
	}
	return nil
}

// Counts are a graph's statistics, from counters that are kept on every write. Props, Degrees and Distinct are there only
// where all statistics were asked for.
type Counts struct {
	Vertices uint64
	Edges    uint64
	ByLabel  map[string]uint64 // vertices with the label
	ByType   map[string]uint64 // edges of the type
	// Ends gives, for each edge type, label of the source and label of the target, how many edges there are. A key
	// with an empty label counts any. Filled only where a store keeps it.
	Ends map[TypeEnds]uint64
	// Props gives how many vertices of a label, or edges of a type, have a property; with neither, how many vertices.
	// Filled only where a store keeps it.
	Props map[PropOf]uint64
	// Degrees gives, by edge type and direction, how many vertices have from 2^i to 2^(i+1)-1 edges, for each i. It follows
	// the writes within about a second. Filled only where a store keeps it.
	Degrees map[TypeDir][]uint64
	// Distinct gives estimates of the number of distinct values of indexed properties, by index name.
	Distinct map[string]uint64
}

// FarEnds reports whether all far ends of edges of the types (none: all) have a label.
func (c *Counts) FarEnds(types []string, dir Direction, label string) bool {
	if len(c.Ends) == 0 {
		return false // not kept, or no edges at all
	}
	all := func(typ string, n uint64) bool {
		return (dir == In || c.Ends[TypeEnds{Type: typ, Dst: label}] == n) &&
			(dir == Out || c.Ends[TypeEnds{Src: label, Type: typ}] == n)
	}
	if len(types) == 0 {
		for typ, n := range c.ByType {
			if !all(typ, n) {
				return false
			}
		}
		return true
	}
	for _, typ := range types {
		if !all(typ, c.ByType[typ]) {
			return false
		}
	}
	return true
}

// TypeDir is an edge type and a direction, Out or In.
type TypeDir struct {
	Type string
	Dir  Direction
}

// PropOf is a property of the vertices of a label, of the edges of a type, or, with neither, of all vertices.
type PropOf struct{ Label, Type, Prop string }

// TypeEnds is an edge type with the labels of its ends.
type TypeEnds struct{ Src, Type, Dst string }
