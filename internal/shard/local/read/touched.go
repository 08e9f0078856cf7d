package read

import (
	"context"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// touched knows, by part of the graph, the last commit since the graph was opened that changed it.
type touched struct {
	opened uint64 // see shard.Version

	mu                   sync.RWMutex // guards the fields below
	labels, types, props []uint64     // by number
	any                  [5]uint64    // by bit of shard.AnyPart
	everything           uint64       // the last commit that does not say what it changed
}

// note notes what a writer has committed, before a reader sees it. A bulk does not list its changes.
func (t *touched) note(seq uint64, w *staging.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := w.Changes()
	if b, _ := w.Packed(); b != nil || len(ch.Vertices) > 0 {
		t.everything = seq
		return
	}
	t.touch(shard.AnyOther, seq)
	for c := range w.Counts {
		switch c.Kind {
		case stats.CountLabel:
			set(&t.labels, int(c.Label), seq)
		case stats.CountVertices:
			t.touch(shard.AnyVertex, seq)
		}
	}
	for i := range ch.Props {
		switch p := &ch.Props[i]; {
		case p.New || p.Prop >= codec.HiddenProps:
		case p.Prop == codec.LabelSetProp:
			t.touch(shard.AnyLabel, seq)
		default:
			t.touch(shard.AnyProp, seq)
			set(&t.props, int(p.Prop), seq)
		}
	}
	for i := range ch.Edges {
		t.touch(shard.AnyType, seq)
		set(&t.types, int(ch.Edges[i].Type), seq)
	}
}

// noteAll notes a commit that may have changed everything.
func (t *touched) noteAll(seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.everything = seq
}

// touch notes a change of one of a group of parts. The caller holds the lock.
func (t *touched) touch(group shard.AnyPart, seq uint64) {
	for bit := range t.any {
		if group == 1<<bit {
			t.any[bit] = seq
		}
	}
}

// set notes a change of the part with a number.
func set(of *[]uint64, no int, seq uint64) {
	if no >= len(*of) {
		*of = append(*of, make([]uint64, no+1-len(*of))...)
	}
	(*of)[no] = seq
}

// last returns the last commit that changed one of some parts.
func (t *touched) last(p *shard.Parts) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	seq := t.everything
	for bit, at := range t.any {
		if p.Any&(1<<bit) != 0 {
			seq = max(seq, at)
		}
	}
	return max(seq, latest(t.labels, p.Labels), latest(t.types, p.Types), latest(t.props, p.Props))
}

// latest returns the greatest of the numbers of some parts.
func latest[T graph.LabelID | graph.TypeID | graph.PropID](of []uint64, parts []T) (seq uint64) {
	for _, p := range parts {
		if int(p) < len(of) {
			seq = max(seq, of[p])
		}
	}
	return seq
}

// NoteAll records a commit that may have changed everything.
func (d *Topology) NoteAll(seq uint64) { d.touched.noteAll(seq) }

// Version implements shard.Versioned. A later commit than those of the snapshot may have hidden the last one in it.
func (tx *Tx) Version(_ context.Context, parts *shard.Parts) (v shard.Version, ok bool, err error) {
	if tx.snap == nil || tx.over != nil {
		return v, false, nil
	}
	t := &tx.on.Topology.touched
	v = shard.Version{Opened: t.opened, Commit: t.last(parts)}
	return v, v.Commit <= tx.snap.Seq, nil
}
