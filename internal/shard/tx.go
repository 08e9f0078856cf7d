package shard

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// Reader reads vertices and edges of one snapshot. All requests are batches: there is none for one vertex. Requests may run concurrently.
type Reader interface {
	// Scan appends to dst, in ascending order, vertices at or after from with the label (0: any), until cap(dst) is reached or the
	// graph ends. next is the position to continue from; done reports that no vertex follows.
	Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) (ids []graph.VertexID, next graph.VertexID, done bool, err error)

	// LabelSets fills out[i] with the label set of ids[i]; 0 means that there is no such vertex.
	LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error

	// Properties fills out[p][i] with property props[p] of vertex ids[i], null if it has none. ids may be in any order and repeat;
	// sorted ids are fastest.
	Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error

	// Expand finds the edges of a frontier; see Expand.
	Expand(ctx context.Context, req *Expand, res *Neighbours) error

	// Degrees fills out[i] with the number of edges of ids[i] of the types (none: all) in the direction.
	Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error

	// EdgeProperties fills out[p][i] with property props[p] of edges[i], null if there is no such edge.
	EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error
}

// Indexes reads the indexes of one snapshot.
type Indexes interface {
	// Lookup finds the owners of tuples of values, as Seek says: those of tuple k are owners[offsets[k]:offsets[k+1]], by their ids.
	Lookup(ctx context.Context, index IndexRef, vals []graph.Value) (offsets []int, owners []graph.IndexOwner, err error)
	// Range returns at most room entries (0: as many as suit it) of a range after the cursor, in the order of the range. more reports
	// whether others follow; the next cursor is then that of the last entry.
	Range(ctx context.Context, index IndexRef, r Range, cursor []byte, room int) (entries []Entry, more bool, err error)
}

// Composed are requests that Reader can answer too, as Complete does. A backing answers them itself where that is faster.
type Composed interface {
	// EdgeRecords fills out[i] with all properties of edges[i]; LabelSet is 0 where there is no such edge, else 1.
	EdgeRecords(ctx context.Context, edges []graph.Edge, out []Record) error

	// Step adds to out every vertex that an edge leads to from a vertex of from.
	Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error

	// Compare sets scores[i] to the similarity of a probe and property prop of vertex ids[i], or to NaN if that is no vector of the
	// probe's dimensions or the similarity does not accept it. ids may be in any order and repeat; sorted ids are fastest. It returns
	// the bytes of the vectors that it compared.
	Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (bytes int, err error)

	// CompareEdges adds to best the edges that are most similar to a probe, at most K, among those of the type that leave vertices.
	// Sorted vertices are fastest.
	CompareEdges(ctx context.Context, req *Nearest, sources []graph.VertexID, best *Top) (NearestFound, error)

	// Nearest adds to best the vertices or edges that are most similar to a probe, at most K of each shard or process. Done is false, and
	// best as it was, if the caller must compare all.
	Nearest(ctx context.Context, req *Nearest, best *Top) (NearestFound, error)
}

// Writer makes the changes of a transaction. Only one goroutine at a time may use it.
type Writer interface {
	// Label, Type, Prop and LabelSet number names that are about to be written, making new ones where needed.
	Label(name string) (graph.LabelID, error)
	Type(name string) (graph.TypeID, error)
	Prop(name string) (graph.PropID, error)
	LabelSet(labels []graph.LabelID) (graph.LabelSet, error)

	// Apply makes changes in order and sets the ids of new elements. After an error, the transaction can only be rolled back.
	Apply(ctx context.Context, ms []Mutation) error
	// CheckUnique fails if the transaction's state, including its own writes, breaks a unique constraint. Commit checks that too,
	// like all other constraints, and also against concurrent transactions.
	CheckUnique(ctx context.Context) error

	// Commit makes the changes durable and visible; after an error nothing has changed. It ends the transaction.
	Commit(ctx context.Context) error
	// Rollback ends the transaction without its changes; after Commit it does nothing.
	Rollback()
}

// Tx reads one consistent snapshot of a graph and, in Write mode, sees its own writes. Values and ids that it returns are valid until it
// ends. A backing that only reads writes Reader, and Indexes if it has some; Complete does the rest.
type Tx interface {
	Reader
	Indexes
	Composed
	Writer

	// Counts returns how many vertices and edges the snapshot has, by label, type and ends; they must not be changed.
	Counts() *graph.Counts
	// Statistics returns the counts with all that a planner asks for beside them, which takes longer to add up.
	Statistics() *graph.Counts

	// Records fills out[i] with the label set and all properties (sorted by PropID) of vertex ids[i].
	Records(ctx context.Context, ids []graph.VertexID, out []Record) error

	// Seek finds the vertices that have some values in an index; see Seek.
	Seek(ctx context.Context, req *Seek, res *Found) error
	// SeekEdges is Seek for an index over edges.
	SeekEdges(ctx context.Context, req *Seek, res *FoundEdges) error
	// SeekRange appends to dst, in the order of the values, vertices whose first indexed property after those in r.Equal is within r
	// or, for a point index, whose place is. It continues after *cursor and updates it (nil at the start and at the end).
	SeekRange(ctx context.Context, index graph.IndexID, r Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error)
	// SeekEdgeRange is SeekRange for an index over edges.
	SeekEdgeRange(ctx context.Context, index graph.IndexID, r Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error)

	// Features are what the transaction can do beside its requests. A wrapper returns those of what it wraps, or what stands for them.
	Features() Features
}
