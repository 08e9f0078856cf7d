package text

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
)

const (
	// textOwners is how many vertices or edges are read from the queue at a time, textDocs how many of them are then read together.
	textOwners, textDocs = 4096, 256
	// textBatch is about how many bytes of texts make a batch.
	textBatch = 1 << 20
	// textTrim is how many changes must be on disk until they are deleted from the queue.
	textTrim = 1024
)

// Growth is about how many times the bytes of texts an index takes in memory until it is on disk.
const Growth = 6

// run makes the index follow the graph until it is closed.
func (x *Index) run() {
	defer close(x.done)
	timer := time.NewTimer(textPause)
	defer timer.Stop()
	for {
		again := false
		more, err := x.follow()
		if err == nil {
			again, err = x.trim()
		}
		if x.ctx.Err() != nil {
			return
		}
		wakes, later := x.wakes, (<-chan time.Time)(nil)
		switch {
		case err != nil:
			x.fail(err)
			wakes, later = nil, timer.C
		case more:
			continue
		case again:
			later = timer.C
		}
		timer.Reset(textPause)
		select {
		case <-x.ctx.Done():
			return
		case <-x.of.stop:
			return
		case <-later:
			if err != nil {
				x.reopen()
			}
		case <-wakes:
		}
	}
}

// fail records that the index cannot follow.
func (x *Index) fail(err error) {
	if fail.IsClosed(err) {
		return
	}
	x.of.on.Options.Logger.Error("follow the graph with a full-text index", slog.String("graph", x.of.on.Name), slog.Uint64("index", uint64(x.id)), slog.Any("error", err))
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = unavailable("TextIndexFailed", "the full-text index cannot follow the graph; it tries again")
	x.notifyWaiters()
}

// reopen returns to the state on disk after an error.
func (x *Index) reopen() {
	if x.dir == "" {
		x.mu.Lock()
		x.err = nil // there is nothing but memory
		x.mu.Unlock()
		return
	}
	x.mu.Lock()
	old := x.index
	x.index = nil
	x.mu.Unlock()
	err := x.closeIndex(old)
	c, release := x.of.g.Newest()
	defer release()
	x.mu.Lock()
	defer x.mu.Unlock()
	err = errors.Join(err, x.load(c.Views))
	if x.index == nil {
		x.of.on.Options.Logger.Error("open a full-text index", slog.String("graph", x.of.on.Name), slog.Uint64("index", uint64(x.id)), slog.Any("error", err))
		return
	}
	if err != nil {
		x.of.on.Options.Logger.Warn("close a full-text index", slog.String("graph", x.of.on.Name), slog.Any("error", err))
	}
	x.err = nil
	x.notifyWaiters()
}

// follow puts some of the queued changes into the index; more says that there may be others.
func (x *Index) follow() (more bool, err error) {
	tx, end, err := x.of.g.ReadNewest()
	if err != nil {
		return false, err
	}
	defer end()
	d := tx.Defs().ByID[x.id]
	if d == nil {
		return false, nil // the snapshot is older than the index
	}
	next, until := slices.Clone(x.kept.next), make([]uint64, len(tx.Views()))
	var owners []graph.IndexOwner
	seen := map[graph.IndexOwner]bool{}
	for no, v := range tx.Views() {
		until[no] = v.NextText()
		from := max(next[no], x.next[no])
		next[no] = max(until[no], from)
		err := v.TextChanges(x.ctx, x.id, from, until[no], func(number uint64, o graph.IndexOwner) bool {
			if seen[o] {
				return true
			}
			if len(owners) == textOwners {
				next[no], more = number, true
				return false
			}
			seen[o] = true
			owners = append(owners, o)
			return true
		})
		if err != nil {
			return false, err
		}
	}
	if len(owners) > 0 {
		if err := x.put(tx, d, owners, textMark{next, until}); err != nil {
			return false, err
		}
	}
	x.mu.Lock()
	x.next = next
	x.notifyWaiters()
	x.mu.Unlock()
	return more, nil
}

// put reads what some owners are and puts that into the index, a batch after the other. The mark moves with the last one; before, the
// index says that it may have changes that are later than its mark.
func (x *Index) put(tx *read.Tx, d *index.Def, owners []graph.IndexOwner, m textMark) error {
	b := &search.Batch{}
	bytes := 0
	apply := func(mark textMark) error {
		give, err := x.of.room.Take(x.ctx, Growth*(bytes+256*(len(b.Docs)+len(b.Delete))))
		if err != nil {
			return err
		}
		x.mu.Lock()
		x.batches++
		no := x.batches
		if x.held == nil {
			x.held = map[uint64]func(){}
		}
		x.held[no] = give
		ix := x.index
		x.mu.Unlock()
		b.Mark = mark.encode()
		b.Persisted = func(err error) { x.saved(no, mark, err) }
		if ix == nil {
			return errTextGone
		}
		if err := ix.Apply(b); err != nil {
			return err
		}
		x.kept = mark
		b, bytes = &search.Batch{}, 0
		return nil
	}
	for len(owners) > 0 {
		some := owners[:min(len(owners), textDocs)]
		owners = owners[len(some):]
		docs, gone, err := x.of.docs(x.ctx, tx, d, some)
		if err != nil {
			return err
		}
		b.Docs, b.Delete = append(b.Docs, docs...), append(b.Delete, gone...)
		for i := range docs {
			bytes += Bytes(&docs[i])
		}
		if bytes >= textBatch && len(owners) > 0 {
			if err := apply(textMark{x.kept.next, m.until}); err != nil {
				return err
			}
		}
	}
	return apply(m)
}

// Bytes is the size of a document's texts.
func Bytes(d *search.Doc) (n int) {
	for _, f := range d.Fields {
		for _, t := range f.Texts {
			n += len(t)
		}
	}
	return n
}

// saved records that a batch is on disk, or failed, which the index reports itself.
func (x *Index) saved(no uint64, m textMark, err error) {
	x.mu.Lock()
	give := x.held[no]
	delete(x.held, no)
	if err == nil {
		for no := range m.next {
			x.persisted[no] = max(x.persisted[no], m.next[no])
		}
	}
	x.mu.Unlock()
	if give != nil {
		give()
	}
	x.wake()
}

// trim deletes changes from the queue that the index has on disk. If somebody else holds the writer's lock, again is true.
func (x *Index) trim() (again bool, err error) {
	x.mu.Lock()
	to := slices.Clone(x.persisted)
	x.mu.Unlock()
	sum := uint64(0)
	for _, n := range to {
		sum += n
	}
	if sum < x.trimmed+textTrim {
		return false, nil
	}
	if !x.of.g.TryLock() {
		return true, nil
	}
	defer x.of.g.Unlock()
	for no, s := range x.of.shards {
		if err := s.TrimTexts(x.id, to[no]); err != nil {
			return false, err
		}
	}
	x.trimmed = sum
	return false, nil
}

// docs reads the documents of owners; gone are the names of those that have none.
func (t *Indexes) docs(ctx context.Context, tx *read.Tx, d *index.Def, owners []graph.IndexOwner) (docs []search.Doc, gone []search.ID, err error) {
	if len(d.Types) > 0 {
		return edgeDocs(ctx, tx, d, owners)
	}
	ids := make([]graph.VertexID, len(owners))
	for i, o := range owners {
		ids[i] = o.Vertex
	}
	slices.Sort(ids)
	sets := make([]graph.LabelSet, len(ids))
	cols := shard.Columns(len(d.PropIDs), len(ids))
	if err := tx.LabelSets(ctx, ids, sets); err != nil {
		return nil, nil, err
	}
	if err := tx.Properties(ctx, ids, d.PropIDs, cols); err != nil {
		return nil, nil, err
	}
	vals := make([]graph.Value, len(d.PropIDs))
	for i, id := range ids {
		for p := range vals {
			vals[p] = cols[p][i]
		}
		doc := search.Doc{ID: binary.BigEndian.AppendUint64(nil, uint64(id)), Fields: Fields(d.Props, vals)}
		if len(doc.Fields) == 0 || !d.Covers(t.catalog.Labels(sets[i])) {
			gone = append(gone, doc.ID)
			continue
		}
		docs = append(docs, doc)
	}
	return docs, gone, nil
}

// Fields are the fields of a document, by the names and the values of an index's properties; none if the index does not have the element.
func Fields(props []string, vals []graph.Value) (fields []search.Field) {
	for p, v := range vals {
		if texts := index.Texts(v); len(texts) > 0 {
			fields = append(fields, search.Field{Name: props[p], Texts: texts})
		}
	}
	return fields
}

// edgeDocs is docs for an index over edges. An owner does not name its type.
func edgeDocs(ctx context.Context, tx *read.Tx, d *index.Def, owners []graph.IndexOwner) (docs []search.Doc, gone []search.ID, err error) {
	recs := make([]shard.Record, len(owners))
	edges := make([]graph.Edge, len(owners))
	for _, t := range d.Types {
		for i, o := range owners {
			edges[i] = index.EdgeOf(o, t)
		}
		if err := tx.EdgeRecords(ctx, edges, recs); err != nil {
			return nil, nil, err
		}
		for i := range edges {
			doc := search.Doc{ID: EdgeDoc(edges[i])}
			if recs[i].Labels != 0 {
				doc.Fields = Fields(d.Props, d.Values(recs[i].Props))
			}
			if len(doc.Fields) == 0 {
				gone = append(gone, doc.ID)
				continue
			}
			docs = append(docs, doc)
		}
	}
	return docs, gone, nil
}

// EdgeDoc names the document of an edge: the edge, its type and its ends, so that a hit tells all of it.
func EdgeDoc(e graph.Edge) search.ID {
	b := binary.BigEndian.AppendUint64(nil, uint64(e.ID))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Type))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Src))
	return binary.BigEndian.AppendUint64(b, uint64(e.Dst))
}

// DocEdge reads what EdgeDoc wrote.
func DocEdge(id search.ID) (e graph.Edge, ok bool) {
	if len(id) != 28 {
		return e, false
	}
	return graph.Edge{
		ID: graph.EdgeID(binary.BigEndian.Uint64(id)), Type: graph.TypeID(binary.BigEndian.Uint32(id[8:])),
		Src: graph.VertexID(binary.BigEndian.Uint64(id[12:])), Dst: graph.VertexID(binary.BigEndian.Uint64(id[20:])),
	}, true
}
