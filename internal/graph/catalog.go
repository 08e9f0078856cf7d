package graph

import (
	"slices"
	"strconv"
	"time"
)

// Catalog maps names of one graph to numbers. A name gets its number when it is first written and keeps it, so a Catalog needs no
// transaction. All methods are cheap and safe for concurrent use.
type Catalog interface {
	Label(name string) (LabelID, bool)
	LabelName(LabelID) string
	Type(name string) (TypeID, bool)
	TypeName(TypeID) string
	Prop(name string) (PropID, bool)
	PropName(PropID) string
	// Labels returns the members of a label set in ascending order. Callers must not modify it.
	Labels(LabelSet) []LabelID
	// AllLabels, AllTypes and AllProps return the known names in the order of their numbers.
	AllLabels() []string
	AllTypes() []string
	AllProps() []string
	// Indexes returns the indexes and constraints. Callers must not modify it.
	Indexes() []Index
	// Version increases with every change to Indexes.
	Version() uint64
}

// IndexKind is a kind of index. The numbers are part of the protocol between processes.
type IndexKind uint8

// The kinds of indexes.
const (
	// RangeIndex finds equal values and intervals, and returns entries in the order of the values.
	RangeIndex IndexKind = iota
	// PointIndex contains only points and finds those in a box or near another point.
	PointIndex
	// VectorIndex ranks vectors by their similarity to another. It has no entries: a search reads the property itself.
	VectorIndex
	// FullTextIndex finds the words of texts. Its entries lie in a store of their own.
	FullTextIndex
)

var indexKinds = [...]string{RangeIndex: "RANGE", PointIndex: "POINT", VectorIndex: "VECTOR", FullTextIndex: "FULLTEXT"}

// String returns the kind in Cypher's syntax.
func (k IndexKind) String() string {
	if int(k) < len(indexKinds) {
		return indexKinds[k]
	}
	return "INDEX KIND " + strconv.Itoa(int(k))
}

// Provider returns Neo4j's name for the implementation of the kind; clients compare it.
func (k IndexKind) Provider() string {
	switch k {
	case PointIndex:
		return "point-1.0"
	case VectorIndex:
		return "vector-2.0"
	case FullTextIndex:
		return "fulltext-1.0"
	}
	return "range-1.0"
}

// ParseIndexKind finds a kind by its name.
func ParseIndexKind(name string) (IndexKind, bool) {
	k := slices.Index(indexKinds[:], name)
	return IndexKind(max(k, 0)), k >= 0
}

// Index is an index or a constraint on the vertices of a label or, if Type is set, on the edges of a type.
type Index struct {
	ID    IndexID
	Name  string
	Label string // of vertices, or "" for an index over edges
	Type  string // of edges, or ""
	Props []string
	Kind  IndexKind
	// Unique means that no two vertices have equal values; Required that every vertex has the properties. An index with neither is plain;
	// one with both is a node key.
	Unique, Required bool
	// Indexed reports whether the index has entries; pure existence constraints and vector indexes have none.
	Indexed bool
	// Online is false during the build of the index: writes maintain it, but reads must not use it.
	Online bool
	// Failure is the reason why the build failed; such an index is neither maintained nor read and can only be dropped.
	Failure string
	// TTL makes this the expiry order of a TTL's vertices or edges instead of an index: they expire TTL after the time in the single
	// property or, without one, after the last write. Indexes omits it.
	TTL time.Duration
	// Vector are the settings of a vector index.
	Vector VectorOptions
	// Text are the settings of a full-text index.
	Text TextOptions
}

// TextOptions are the settings of a full-text index. The zero value is the default but for the analyzer's name.
type TextOptions struct {
	// More are labels, or types, beside the index's own.
	More []string
	// Analyzer names what splits texts into terms.
	Analyzer string
	// Eventual means that searches do not wait until the index has all changes of their snapshot, nor see the transaction's own.
	Eventual bool
}

// DefaultAnalyzer is that of full-text indexes that name none.
const DefaultAnalyzer = "standard-no-stop-words"

// Names returns the labels or types that the index is over.
func (ix *Index) Names() []string { return append([]string{ix.Label + ix.Type}, ix.Text.More...) }

// Clash returns an index of the list that conflicts with ix, because it has the same name, or covers the same properties and both or
// neither have entries; nil if none does.
func (ix *Index) Clash(list []Index) *Index {
	for i := range list {
		o := &list[i]
		bare := ix.Label == "" && ix.Type == ""
		same := !bare && o.Label == ix.Label && o.Type == ix.Type && o.Kind == ix.Kind && o.Indexed == ix.Indexed && slices.Equal(o.Props, ix.Props) && slices.Equal(o.Text.More, ix.Text.More)
		if ix.Name != "" && o.Name == ix.Name || same {
			return o
		}
	}
	return nil
}

// Ordered reports whether the index has entries in the order of their values.
func (ix *Index) Ordered() bool { return ix.Indexed && ix.Kind == RangeIndex }

// Searches reports whether queries can use the index, so that it is not only a constraint.
func (ix *Index) Searches() bool { return ix.Indexed || ix.Kind == VectorIndex }

// IsConstraint reports whether the index restricts what may be written.
func (ix *Index) IsConstraint() bool { return ix.Unique || ix.Required }

// TTL is the time to live of the vertices of a label, or of the edges of a type.
type TTL struct {
	Label string // of vertices, or ""
	Type  string // of edges, or ""
	// After is their lifetime, counted from the last write of their own labels and properties, or from the time in Property.
	After time.Duration
	// Property, if set, contains the start of the lifetime: a zoned date time, a local one or a date in UTC, or a Unix time in seconds
	// (from 1e11 on milliseconds, from 1e14 on microseconds, from 1e17 on nanoseconds). Without such a value, there is no expiry.
	Property string
}

// FindTTL returns the TTL of a label or a type, one of which must be set; nil if it has none.
func FindTTL(list []TTL, label, typ string) *TTL {
	for i := range list {
		if list[i].Label == label && list[i].Type == typ {
			return &list[i]
		}
	}
	return nil
}

// Counts are a graph's statistics, from counters that every write maintains. Props, Degrees and Distinct are set only in full statistics.
type Counts struct {
	Vertices uint64
	Edges    uint64
	ByLabel  map[string]uint64 // vertices with the label
	ByType   map[string]uint64 // edges of the type
	// Ends counts the edges by type, label of the source and label of the target. An empty label in a key matches any. Set only if the
	// store maintains it.
	Ends map[TypeEnds]uint64
	// Props counts the vertices of a label or the edges of a type that have a property; with neither, it counts vertices. Set only if the
	// store maintains it.
	Props map[PropOf]uint64
	// Degrees[t][i] counts the vertices with 2^i to 2^(i+1)-1 edges of a type in a direction. It lags behind writes by up to about a
	// second. Set only if the store maintains it.
	Degrees map[TypeDir][]uint64
	// Distinct estimates the number of distinct values of indexed properties, by index name.
	Distinct map[string]uint64
}

// FarEnds reports whether all far ends of edges of the types (none: all types) have a label.
func (c *Counts) FarEnds(types []string, dir Direction, label string) bool {
	if len(c.Ends) == 0 {
		return false // not maintained, or no edges at all
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
