package staging

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Shard is what writers know of their shard.
type Shard struct {
	No int
	// NextVertex and NextEdge are the local ids to give out next.
	NextVertex, NextEdge atomic.Uint64
	// ValueThreshold is the size in bytes from which a property value is a large one.
	ValueThreshold int
	// PackEdges, DenseRows, ChunkBytes and SegmentBytes are as in storage.Tuning.
	PackEdges, DenseRows, ChunkBytes, SegmentBytes int
}

// Writer collects the changes of a transaction to a shard, and reads through them. One goroutine uses it, except for its View's reads.
// Commit or Discard ends it.
type Writer struct {
	draft
	Vertices Vertices
	Edges    Edges
	Entries  Entries
	Texts    Texts
	// Log collects the changes for the commit log, nil without one.
	Log    *changelog.Encoder
	ranges *pack.Ranges // of the bulk, or nil
}

// draft is what the parts of a writer share.
type draft struct {
	*view.View
	stats.Delta
	shard   *Shard
	over    *view.Overlay
	bulk    *pack.Bulk // or nil
	records int        // delta records
	changes Changes
	// ones are the chunks of lists that got or lost delta records of single edges.
	ones     []keys.GroupChunk
	key, buf []byte
}

// memory is a writer with its view, overlay and buffers for a few changes, in one allocation.
type memory struct {
	writer Writer
	view   view.View
	over   view.Overlay
	edges  [2]EdgeChange
	ones   [2]keys.GroupChunk
	key    [64]byte
	buf    [32]byte
}

// Changes is what a commit changes, for caches of decoded records.
type Changes struct {
	Edges []EdgeChange
	Props []PropChange
	// Vertices are new ones that Vertices.PutRun has packed.
	Vertices []pack.VertexRange
	Keys     []KeyChange
}

// KeyChange is an entry of a unique index that was deleted.
type KeyChange struct {
	Index graph.IndexID
	Tuple []byte
}

// EdgeChange is an edge that was added to a list, changed or removed.
type EdgeChange struct {
	Vertex, Neighbour graph.VertexID
	Edge              graph.EdgeID
	Type              graph.TypeID
	Dir               graph.Direction
	What              EdgeEvent
}

// EdgeEvent is what happened to an edge in a list.
type EdgeEvent uint8

// What can happen to an edge.
const (
	EdgeAdded EdgeEvent = iota
	EdgeChanged
	EdgeRemoved
)

// PropChange is a vertex property that was set, or removed, which makes it null; property 0 is the label set.
type PropChange struct {
	Vertex  graph.VertexID
	Prop    graph.PropID
	Value   graph.Value
	Unknown bool // Value is not set: it is a large value, or of a kind that is not cached
	New     bool // the vertex is new
}

// New makes a writer above two readers of one state of a shard. firstLarge is the id of its first large value.
func New(shard *Shard, views *view.Set, graph, values pebble.Reader, st view.State, firstLarge uint64) *Writer {
	m := &memory{}
	m.over.Init(firstLarge, shard.ValueThreshold)
	views.Init(&m.view, graph, values, &m.over, st)
	w := &m.writer
	w.draft = draft{View: &m.view, Delta: stats.Delta{Base: st.Sketches}, shard: shard, over: &m.over, key: m.key[:0], buf: m.buf[:0], ones: m.ones[:0]}
	w.changes.Edges = m.edges[:0]
	w.Vertices.draft, w.Edges.draft, w.Entries.draft, w.Texts.draft = &w.draft, &w.draft, &w.draft, &w.draft
	return w
}

// Empty reports whether nothing was changed.
func (w *Writer) Empty() bool {
	return w.over.Empty() && len(w.Counts) == 0 && w.bulk == nil && len(w.Texts.noted) == 0
}

// Bytes is the size of the changes.
func (w *Writer) Bytes() int {
	n := w.over.Bytes() + w.over.LargeBytes() + len(w.Texts.noted)*textChangeBytes
	if w.Log != nil {
		n += w.Log.Bytes()
	}
	return n
}

// Overlay has the changed records.
func (w *Writer) Overlay() *view.Overlay { return w.over }

// Changes lists what was touched.
func (w *Writer) Changes() *Changes { return &w.changes }

// NextVertex is the local id that NewVertex reserves next, unless another writer reserves it first.
func (w *Writer) NextVertex() uint64 { return w.shard.NextVertex.Load() }

// NewVertex reserves the id of a new vertex. An id is used once, even if the transaction does not commit.
func (w *Writer) NewVertex() graph.VertexID { return w.NewVertices(1) }

// NewVertices reserves n consecutive ids for new vertices and returns the first.
func (w *Writer) NewVertices(n int) graph.VertexID {
	return graph.MakeVertexID(w.shard.No, w.shard.NextVertex.Add(uint64(n))-uint64(n))
}

// NewEdge reserves the id of a new edge whose source lies in this shard.
func (w *Writer) NewEdge() graph.EdgeID {
	return graph.MakeEdgeID(w.shard.No, w.shard.NextEdge.Add(1)-1)
}

// NewBulk starts a bulk, which becomes part of the changes.
func (w *Writer) NewBulk() *pack.Bulk {
	w.bulk = pack.NewBulk(w.View, w.over, &w.Delta, &w.shard.NextVertex, w.shard.ChunkBytes, w.shard.SegmentBytes)
	w.ranges = &w.bulk.Changed
	return w.bulk
}

// Spill makes readable what the bulk has collected so far.
func (w *Writer) Spill() error {
	w.Vertices.forget()
	return w.bulk.Spill()
}

// Ranges returns what the bulk has collected, nil without a bulk; it is complete after Finish.
func (w *Writer) Ranges() *pack.Ranges { return w.ranges }

// Packed returns the bulk, or nil, and reports whether column chunks were rewritten.
func (w *Writer) Packed() (b *pack.Bulk, chunks bool) { return w.bulk, w.Vertices.chunks }

// Finish ends the changes. It returns how many delta records there are, how many of them are runs of a bulk, and the chunks of lists that
// got or lost delta records of single edges or runs.
func (w *Writer) Finish() (records, runs int, touched []keys.GroupChunk, err error) {
	if w.bulk == nil {
		return w.records, 0, w.ones, nil
	}
	err = w.bulk.Finish()
	return w.records + w.bulk.Runs, w.bulk.Runs, append(w.ones, w.bulk.Touched...), err
}

// SetMark stores the progress of a stream of load batches: the number of its last batch and that batch's result.
func (w *Writer) SetMark(stream string, seq uint64, mark []byte) {
	w.over.Set(keys.MarkKey(stream), append(binary.AppendUvarint(nil, seq), mark...))
}

// SetWritten stores the vertices that a batch of a stream has written, beside those of the batches before it.
func (w *Writer) SetWritten(stream string, seq uint64, vertices []byte) {
	w.over.Set(binary.BigEndian.AppendUint64(keys.AppendWritten(nil, stream), seq), vertices)
}

// DropMark deletes the mark of a stream, and the vertices that it has written.
func (w *Writer) DropMark(stream string) error {
	w.over.Delete(keys.MarkKey(stream))
	return w.Written(stream, func(key, _ []byte) error {
		w.over.Delete(key)
		return nil
	})
}

// DropLarge marks a large value as garbage that nothing refers to any more.
func (w *Writer) DropLarge(id uint64) { w.set(keys.AppendGarbage(nil, id), nil) }

// set writes a delta record.
func (w *draft) set(key, value []byte) {
	w.records++
	w.over.Set(key, value)
}

// drop marks the large value of a cell as garbage, if it is one. A value of another shard is marked there, where the record that owns the
// reference drops it.
func (w *draft) drop(cell []byte) error {
	if len(cell) == 0 || cell[0] != keys.KindRef {
		return nil
	}
	_, ref, _, _, err := keys.Cell(cell)
	if err != nil {
		return err
	}
	w.set(keys.AppendGarbage(nil, ref.ID), nil)
	return nil
}

// Discard drops the changes.
func (w *Writer) Discard() error { return w.View.Close() }
