package shard

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

// Graph is one graph, whatever the number of its shards and wherever they are. It is safe for concurrent use.
type Graph interface {
	graph.Catalog
	// Begin opens a transaction on one consistent snapshot over all shards, without expired vertices and edges; those that expire
	// during the transaction stay in its snapshot. Any number of transactions may read and write concurrently; only WriteExclusive
	// waits, within ctx, for running commits.
	Begin(ctx context.Context, mode Mode) (Tx, error)
	// BeginStale opens a transaction of mode Read that may read a snapshot which was the present one at some time in the last within. Such
	// a transaction needs no answer of a leader, neither to begin nor to be checked. Without such a snapshot, it is one of Begin.
	BeginStale(ctx context.Context, within time.Duration) (Tx, error)
	// CreateIndex creates an index or constraint beside concurrent writers, and returns when it is online. It fails if existing data
	// violates it. An index with this name, or this schema, is graph.IndexExists. If ctx ends first, a plain index is still built in
	// the background, and a constraint is removed.
	CreateIndex(ctx context.Context, ix graph.Index) error
	// IndexProgress returns the part of an index that is built, from 0 to 1.
	IndexProgress(id graph.IndexID) float64
	// DropIndex removes an index or constraint by name.
	DropIndex(ctx context.Context, name string) error
	// SetTTL sets or replaces the TTL of a label or an edge type, and returns when it applies to existing vertices or edges. Without
	// a property, those written before the first TTL count as written now.
	SetTTL(ctx context.Context, t graph.TTL) error
	// DropTTL removes the TTL of a label or an edge type; without one, it returns graph.KindNotFound.
	DropTTL(ctx context.Context, label, typ string) error
	// TTLs returns the labels and edge types with a TTL.
	TTLs() []graph.TTL
	// Definitions returns what users have defined, such as access rules. Those that it returns after Begin are at least as new as the
	// transaction, if its Check, where it has one, returns nil.
	Definitions() *definition.Set
	// Define changes the definitions, all or none. A transaction that begins after it has returned has the new ones, through whichever
	// process; one of BeginStale may have former ones, of rules only none.
	Define(ctx context.Context, c definition.Change) error
	// Load applies one load batch; see Load.
	Load(ctx context.Context, l *Load) error
	// LoadState returns the Seq of the last batch applied for a stream and its Mark, followed by the batch's refused rows in the form
	// of AppendRejected; 0 and nil if there is none.
	LoadState(ctx context.Context, stream string) (seq uint64, mark []byte, err error)
	// Size is about the number of vertices and edges. It asks no other process.
	Size() uint64
	// ChangeLog returns the commit log, nil if the graph has none.
	ChangeLog() ChangeLog
	// Features says which features the graph's transactions have. It is the same set as long as the graph is open.
	Features() *FeatureSet
}

// Store is the set of graphs that a server serves. It is safe for concurrent use.
type Store interface {
	// Graph returns a graph by name; an unknown one is graph.KindNotFound.
	Graph(name string) (Graph, error)
	// Graphs lists the names in ascending order.
	Graphs() []string
	CreateGraph(ctx context.Context, name string) error
	DropGraph(ctx context.Context, name string) error
	// Features are what the store can do beside its requests.
	Features() StoreFeatures
}

// Mode is what a transaction may do.
type Mode uint8

// The modes. Isolation is that of snapshots: a transaction sees its snapshot and its own writes.
const (
	Read Mode = iota
	// Write begins without waiting. Its commit fails with graph.KindConflict, and may be retried as a new transaction, if a
	// transaction that it did not see has changed the same vertex or edge, or has made a constraint fail.
	Write
	// WriteExclusive keeps others from committing until its end, so its commit meets no conflict.
	WriteExclusive
	// WriteInTurn is Write for a transaction that others of this mode wait for, in Apply, before they change the same vertices or
	// edges. If that was changed since its snapshot, Apply fails with graph.KindConflict; see Heir.
	WriteInTurn
)

// Record is a vertex or an edge with all its properties.
type Record struct {
	Labels graph.LabelSet
	Props  []graph.Property
}

// Expand asks for the edges of many vertices at once: one request a shard a hop.
type Expand struct {
	Sources []graph.VertexID // sorted, without repeats
	Types   []graph.TypeID   // none: all
	Dir     graph.Direction
	Edges   bool           // fill Neighbours.Edges and Reverse (and so Types)
	Props   []graph.PropID // edge properties to fill
	Where   []EdgeRange    // edges that are not in each of them are left out
	Loops   bool           // only edges from a vertex to itself are wanted; others may come too
	// Into, if not nil, collects the far ends, and only Done, Seen and Added are set. Edges and Props are empty then.
	Into *graph.VertexSet
	// MaxEdges is about how many edges the caller wants at once (0: no bound). The answer then covers the first
	// Neighbours.Done sources, at least one, and the caller asks again with the rest.
	MaxEdges int
}

// EdgeRange is a condition on a property of an edge.
type EdgeRange struct {
	Prop graph.PropID
	In   graph.Interval
}

// Neighbours is the answer to Expand: the edges of Sources[i] are at [Offsets[i], Offsets[i+1]) of the other columns.
// Within a source they are grouped by type and direction and sorted by the far end's id. The memory is the caller's
// and is reused from call to call.
type Neighbours struct {
	Done    int
	Seen    int // edges, those left out included
	Added   int // far ends that Expand.Into had not held
	Offsets []int
	Targets []graph.VertexID // the far ends
	Edges   []graph.EdgeID
	Types   []graph.TypeID
	Reverse []bool // the edge leads from the target to the source; set where Dir is In or Both
	Props   [][]graph.Value
}

// Reset empties the answer for a request with some properties, and keeps its memory.
func (n *Neighbours) Reset(props int) {
	n.Done, n.Seen, n.Added, n.Offsets = 0, 0, 0, append(n.Offsets[:0], 0)
	n.Targets, n.Edges, n.Types, n.Reverse = n.Targets[:0], n.Edges[:0], n.Types[:0], n.Reverse[:0]
	for len(n.Props) < props {
		n.Props = append(n.Props, nil)
	}
	n.Props = n.Props[:props]
	for p := range n.Props {
		n.Props[p] = n.Props[p][:0]
	}
}

// Put moves the targets to a set.
func (n *Neighbours) Put(into *graph.VertexSet) {
	n.Added = 0
	for _, v := range n.Targets {
		if into.Add(v) {
			n.Added++
		}
	}
	n.Targets = n.Targets[:0]
}

// Seek asks which vertices, or edges, have some values in an index.
type Seek struct {
	Index graph.IndexID
	// Keys are tuples, each of as many values as the index has properties. Values equal as openCypher's = has it (1 finds 1.0); a null
	// finds nothing.
	Keys []graph.Value
	// Then are the hops that the caller is likely to take from the vertex that is found, if it is one: requests without Sources, of which
	// each starts from the far ends of the one before. One with Into stands for a Step. A Tx that sends requests to other processes may
	// have them answer all at once; the hops are requested afterwards as usual. None of it is read after Seek returns.
	Then []*Expand
}

// Found is the answer to Seek: the vertices of key k are IDs[Offsets[k]:Offsets[k+1]], in ascending order.
type Found struct {
	Offsets []int
	IDs     []graph.VertexID
}

// FoundEdges is the answer to SeekEdges, as Found.
type FoundEdges struct {
	Offsets []int
	Edges   []graph.Edge
}

// TextSearch asks a full-text index.
type TextSearch struct {
	Index graph.IndexID
	Query string
	// Analyzer, if not "", splits the query instead of the index's.
	Analyzer string
	// Most is how many hits are wanted, the best; 0: all.
	Most int
	// Await only waits until the index has all changes of the transaction's snapshot, and finds nothing.
	Await bool
	// Room, if not nil, is called before the search uses some bytes of memory.
	Room func(bytes int) error
}

// TextHits is the answer to SearchText, in descending order of the scores: vertices, or edges.
type TextHits struct {
	Vertices []graph.VertexID
	Edges    []graph.Edge
	Scores   []float64
}

// Range is an interval of values of one type; a bound that is null is open to that side (within the type of the other).
// Without bounds it holds all values.
type Range struct {
	// Equal are values of the index's first properties; the interval is one of the property that follows them.
	Equal          []graph.Value
	Lo, Hi         graph.Value
	LoOpen, HiOpen bool // the bound itself is outside
	Prefix         bool // strings that begin with Lo
	Down           bool // from the greatest value to the least
	// Further are the bounds of more intervals, open as the first one is, each above the one before. A point index is asked
	// for several: its values are places, integers.
	Further [][2]graph.Value
}

// Op is a kind of mutation.
type Op uint8

// The mutations. Deleting a vertex that has edges left at commit is an error of the type ConstraintVerificationFailed, detail
// DeleteConnectedNode. Deleting a deleted element does nothing.
const (
	CreateVertex Op = iota // Labels, Props → Vertex
	CreateEdge             // Edge.Src, Edge.Dst, Edge.Type, Props → Edge.ID
	SetVertex              // Vertex, Props: sets these properties, a null removes one
	SetEdge                // Edge, Props: likewise
	SetLabels              // Vertex, Labels: the new set
	DeleteVertex           // Vertex
	DeleteEdge             // Edge
)

// Mutation is one change.
type Mutation struct {
	Op     Op
	Labels graph.LabelSet
	Vertex graph.VertexID
	Edge   graph.Edge
	Props  []graph.Property
}

// Load is one batch of a bulk load: its rows become durable and visible together, once. Rows are columns, so that no
// row costs an allocation. Vertices come before Edges: an edge may name a vertex of its own batch.
type Load struct {
	// Stream names the load and Seq counts its batches from 1. A batch whose Seq is not above the highest applied for
	// Stream is skipped, so that a batch may be sent again after a crash. An empty Stream is not remembered.
	Stream string
	Seq    uint64
	// Restart forgets what is remembered of Stream, before anything else.
	Restart bool
	// Mark is stored with the batch and given back by Marks: how far the load's inputs have been read.
	Mark []byte
	// Run names a load without a Stream, so that its batches know each other's vertices. Its first batch has Restart. Nothing of it is stored.
	Run string
	// Remember stores which vertices the rows of the Stream have written, so that later batches know them after a restart of the server.
	Remember bool
	// Unlogged keeps the changes out of the commit log, which then has their counts alone.
	Unlogged bool

	Vertices []LoadVertices
	Edges    []LoadEdges

	// Rejected is filled with the rows that were refused, Counts with what the others did. Skipped reports that the batch had been applied
	// before; both are those of then, if no batch of the stream has followed it.
	Rejected []Rejected
	Counts   LoadCounts
	Skipped  bool
	// Resolve is filled with the time spent in looking keys up, where a store measures it.
	Resolve time.Duration
}

// Remembers reports whether the vertices that the load writes are stored: a row that leaves or refuses repeated keys must know them.
func (l *Load) Remembers() bool {
	return l.Remember || slices.ContainsFunc(l.Vertices, func(v LoadVertices) bool { return v.OnDuplicate != DuplicateOverwrite })
}

// LoadForgotten is the error of a batch that must know which vertices the load has written, when the server does not.
func LoadForgotten() error {
	return graph.LoadError("LoadForgotten", "the server does not know any more which vertices this load has written; begin it again: with an id and the same "+
		"choice for repeated keys from the start, it knows them after a restart")
}

// LoadVertices are vertices of one label set. Space is the unique index that holds their external keys: one over a
// label and its key property (the property then stands among Props too), or a bare id space, an index with a Name and
// Unique alone, whose keys are known only to loads.
type LoadVertices struct {
	Labels graph.LabelSet
	Space  graph.IndexID
	Keys   []graph.Value // external keys, Int or String, one a row
	Props  []LoadColumn
	Action Action
	// OnDuplicate decides about a row whose vertex an earlier row of the load has written.
	OnDuplicate OnDuplicate
}

// LoadEdges are edges of one type whose ends are external keys.
type LoadEdges struct {
	Type               graph.TypeID
	SrcSpace, DstSpace graph.IndexID
	Src, Dst           []graph.Value
	Props              []LoadColumn
	Action             Action
	// Dangling decides about an edge whose end does not exist.
	Dangling Dangling
}

// LoadColumn is one property of all rows; a null leaves the property out.
type LoadColumn struct {
	Prop     graph.PropID
	Values   []graph.Value
	Strategy Strategy
}

// Action is what a row does.
type Action uint8

// The actions; Upsert changes what exists and creates what does not.
const (
	Upsert Action = iota
	Insert        // an existing vertex is a reject
	Update        // a missing vertex is a reject
	Delete
)

// Strategy combines an old and a new value of a property; see the load mapping's update strategies.
type Strategy uint8

// The strategies.
const (
	Override Strategy = iota
	Sum
	Bigger
	Smaller
	Union
	Intersection
	Append
	Eliminate
)

// Dangling is the treatment of an edge without an end.
type Dangling uint8

// The ways to treat dangling edges.
const (
	DanglingReject Dangling = iota
	DanglingCreate          // create the missing vertex with only its key
	DanglingSkip
)

// OnDuplicate is the treatment of a row whose vertex an earlier row of the load has created, changed or found unchanged. A vertex that was
// deleted and made again is another one, and ends that dangling edges create are written by no row.
type OnDuplicate uint8

// The ways to treat repeated keys.
const (
	DuplicateOverwrite OnDuplicate = iota // as any existing vertex
	DuplicateKeepFirst                    // the row counts as unchanged
	DuplicateError                        // the row is a reject
)

// OnDuplicateNames has the names by which users choose.
var OnDuplicateNames = map[string]OnDuplicate{"overwrite": DuplicateOverwrite, "keep-first": DuplicateKeepFirst, "error": DuplicateError}

// Rejected names a refused row: group Group of Vertices (or Edges), row Row of it.
type Rejected struct {
	Edge       bool
	Group, Row int
	Code       string // DuplicateKey, MissingVertex, DanglingEdge, …
	Msg        string
}
