package bulk

import (
	"context"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Graph is what loads need to know of a graph, and what one load keeps for the next. The writer's lock guards it.
type Graph struct {
	*storage.Catalog
	Shards []*storage.Shard
	// PlaceBlock is how many new vertices go to one shard before the next gets some.
	PlaceBlock int
	// ValueThreshold is the size in bytes from which on a value is stored apart from its row.
	ValueThreshold int
	// Keys are the keys of unique indexes that earlier loads have looked up, or nil.
	Keys *Keys

	spill *keySpill // of an offline load, or nil
	pairs map[graph.TypeID]*pairFilter
	// written are the vertices of the loads at work, by their streams or runs; batches counts the batches of all.
	written map[string]*written
	batches uint64
}

// Reset forgets what loads have learnt of the graph, because it has changed beside them.
func (g *Graph) Reset() { g.Keys, g.pairs, g.written = nil, nil, nil }

// Tx is the writing transaction of a batch.
type Tx interface {
	// Writers and Views are the transaction's, by shard; the views see what it has written.
	Writers() []*staging.Writer
	Views() []*view.View

	Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, ids []graph.VertexID) ([]graph.VertexID, graph.VertexID, bool, error)
	LabelSets(ctx context.Context, ids []graph.VertexID, sets []graph.LabelSet) error
	Records(ctx context.Context, ids []graph.VertexID, recs []shard.Record) error
	EdgeRecords(ctx context.Context, edges []graph.Edge, recs []shard.Record) error
	Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error
	// Count returns a counter, with the transaction's changes.
	Count(c stats.Count) int64
	// Owner finds the owner of a tuple in a unique index.
	Owner(ix graph.IndexID, tuple []byte) (graph.IndexOwner, bool, error)

	// Prefetch reads together what mutations need. Mutate carries one out; it checks no constraint.
	Prefetch(ctx context.Context, ms []shard.Mutation) error
	Mutate(ctx context.Context, m *shard.Mutation) error
	// Know says which labels a vertex has, so that Mutate need not read them.
	Know(id graph.VertexID, set graph.LabelSet)
	PutEntry(d *index.Def, vals []graph.Value, o graph.IndexOwner) error
	DeleteEntry(d *index.Def, vals []graph.Value, o graph.IndexOwner) error
	// NoteDue records when the owner of an entry expires.
	NoteDue(d *index.Def, tuple []byte)
	// Stamp is the time of the write.
	Stamp() graph.Value
	// Place chooses the shard of a new vertex.
	Place() *staging.Writer
}

// Host runs the steps of an offline load on its graph.
type Host interface {
	// Exclusively calls f under the writer's lock.
	Exclusively(ctx context.Context, f func() error) error
	// Read calls f with a transaction that reads from disk alone.
	Read(ctx context.Context, f func(tx Reader) error) error
	// Write calls f with the writers of a transaction and commits it.
	Write(ctx context.Context, f func(ws []*staging.Writer) error) error
	Load(ctx context.Context, l *shard.Load) error
	// Settle merges all delta records into their lists and columns.
	Settle(ctx context.Context) error
}

// Reader is a reading transaction of an offline load.
type Reader interface {
	Views() []*view.View
	LabelSets(ctx context.Context, ids []graph.VertexID, sets []graph.LabelSet) error
}

// Options say how a Sorter works.
type Options struct {
	FS  vfs.FS
	Dir string // for files that last as long as the load; the Sorter creates and removes it
	// Memory bounds what sorting holds, in bytes.
	Memory int64
	// Workers is the number of goroutines that sort.
	Workers int
	// Progress gets the name of each stage as it begins.
	Progress func(stage string)
}
