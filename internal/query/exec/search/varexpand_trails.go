package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// trails finds the trails (walks that repeat no edge) from given vertices, depth first, some thousand at a time:
//
//	level 0   the starts             level 1   some edges from a part of level 0     level 2   …
//
// A level is the continuation of a part of the level above it by one edge, read with one request; the trails of a level
// are all continued before the level is replaced by that of the next part. So a trail is a chain of entries, one a
// level, and the memory that is needed grows with the length of trails alone.
type trails struct {
	r          *runtime.Run
	newReader  func() *adjacency.Reader
	values     bool                  // edges are requested as values
	ends       *expr.LabelTest       // of the last vertex of a trail; nil: none
	sure       bool                  // all far ends of edges pass it
	uniqueness *adjacency.Uniqueness // edges that a row's trails must not have
	min, max   int
	to         []graph.VertexID // by row: the required end; nil: any
	near       *distances       // to the end, for a walk of max edges; nil: unknown
	truncated  bool             // max or near has cut a trail that might continue

	b      *runtime.Batch // the input batch
	levels []*trailLevel
	depth  int // the current level; -1: at the end
	writer adjacency.EdgeWriter
	chain  []graph.EdgeID
	acct   runtime.Account
}

// trailLevel holds trails of one length by their last edge.
type trailLevel struct {
	level
	edge  []graph.EdgeID // the last edge; not at level 0, nor, like parent, at the last level unless values are wanted
	value []graph.Value  // the last edge, if values are wanted
	row   []int32        // of the input
	ok    []bool         // the end passes the test; not set if there is none

	// The last edges before a condition on the row is tested.
	edgeAt runtime.Sel
	source []graph.VertexID
}

// levelEntries is how many trails a level holds. It shrinks with the depth, so even trails of thousands of edges take little
// memory.
func levelEntries(depth int) int { return max(64, 4*graph.BatchSize>>max(0, depth-6)) }

// tests reports whether the ends of trails of a length are tested.
func (t *trails) tests(length int) bool { return t.ends != nil && (length == 0 || !t.sure) }

// start starts trails at vertices for rows of b.
func (t *trails) start(b *runtime.Batch, vertices []graph.VertexID, rows runtime.Sel) {
	t.b, t.truncated = b, false
	l := t.level(0)
	l.reset()
	l.ids = append(l.ids, vertices...)
	l.row = append(l.row, rows...)
	t.depth = 0
	if t.max < t.min || len(vertices) == 0 {
		t.depth = -1
	}
}

func (t *trails) level(depth int) *trailLevel {
	for len(t.levels) <= depth {
		t.levels = append(t.levels, &trailLevel{level: level{kernel: newKernel(t.r, t.acct.Name, t.newReader())}})
	}
	return t.levels[depth]
}

func (l *trailLevel) reset() {
	l.level.reset()
	l.edge, l.value, l.row, l.ok = l.edge[:0], l.value[:0], l.row[:0], l.ok[:0]
	l.edgeAt, l.source = l.edgeAt[:0], l.source[:0]
}

// next finds a trail of a requested length to a requested end: an entry of level t.depth.
func (t *trails) next(ctx context.Context) (entry int, ok bool, err error) {
	lo, hi, err := t.nextRun(ctx, 1)
	return lo, lo < hi, err
}

// nextRun finds up to most such trails, entries lo … hi-1 of level t.depth; none at the end.
func (t *trails) nextRun(ctx context.Context, most int) (lo, hi int, err error) {
	for t.depth >= 0 {
		l := t.levels[t.depth]
		if t.depth >= t.min && l.given < len(l.ids) {
			if t.depth == 0 && t.ends != nil && len(l.ok) == 0 {
				if err := t.testStarts(ctx, l); err != nil {
					return 0, 0, err
				}
			}
			if lo, hi := t.run(l, most); lo < hi {
				return lo, hi, nil
			}
		}
		more := false
		if t.depth < t.max {
			if more, err = t.grow(ctx, l); err != nil {
				return 0, 0, err
			}
		}
		if more {
			t.depth++
		} else {
			t.depth--
		}
	}
	return 0, 0, nil
}

// run finds the next entries of a level that are requested trails, at most most of them.
func (t *trails) run(l *trailLevel, most int) (lo, hi int) {
	test := t.tests(t.depth)
	if !test && t.to == nil {
		lo, hi = l.given, min(l.given+most, len(l.ids))
		l.given = hi
		return lo, hi
	}
	wanted := func(e int) bool {
		return (!test || l.ok[e]) && (t.to == nil || t.to[l.row[e]] == l.ids[e])
	}
	for l.given < len(l.ids) && !wanted(l.given) {
		l.given++
	}
	lo = l.given
	for l.given < len(l.ids) && l.given < lo+most && wanted(l.given) {
		l.given++
	}
	return lo, l.given
}

// testStarts tests the vertices of level 0, which are the ends of trails without edges.
func (t *trails) testStarts(ctx context.Context, l *trailLevel) error {
	l.labels = append(l.labels[:0], make([]graph.LabelSet, len(l.ids))...)
	if err := t.r.Tx.LabelSets(ctx, l.ids, l.labels); err != nil {
		return err
	}
	for _, ls := range l.labels {
		l.ok = append(l.ok, t.ends.Holds(ls))
	}
	return nil
}

// grow fills the level below l with the next continuations of l; there are none at the end.
func (t *trails) grow(ctx context.Context, l *trailLevel) (bool, error) {
	below := t.level(t.depth + 1)
	below.reset()
	room := levelEntries(t.depth + 1)
	perRow := l.reader.PerRow()
	for len(below.ids) < room {
		switch {
		case l.k < l.end:
			t.extend(l, below, room, perRow)
			if perRow {
				if err := t.filter(ctx, l, below); err != nil {
					return false, err
				}
			}
		case len(l.unread()) > 0:
			if err := t.r.CheckCancel(ctx); err != nil {
				return false, err
			}
			l.base += l.reader.Answer.Done
			if err := l.reader.Read(ctx, l.frontier.IDs[l.base:], room); err != nil {
				return false, err
			}
			l.answered()
			if t.tests(t.depth+1) && t.depth+1 >= t.min {
				if err := l.reader.ReadSets(ctx); err != nil {
					return false, err
				}
			}
		case l.hi < len(l.ids):
			l.frontier.Set(l.part(levelEntries(t.depth) / 4))
		default:
			return len(below.ids) > 0, t.account()
		}
	}
	return true, t.account()
}

// account accounts for new memory.
func (t *trails) account() error {
	held := 0
	for _, l := range t.levels {
		held += l.bytes() + len(l.edge)*(8+4) + len(l.value)*24 + len(l.reader.Answer.Targets)*24
	}
	return t.acct.GrowTo(held)
}

// extend continues entries of l by the edges of its answer, until below has room entries or the answer ends.
func (t *trails) extend(l, below *trailLevel, room int, perRow bool) {
	res := &l.reader.Answer
	depth := t.depth + 1
	last := depth == t.max
	tests := t.tests(depth)
	test := tests && depth >= t.min
	plain := !tests && t.near == nil && !perRow && !t.values && !(last && t.to != nil)
	to := below.memory
	for l.k < l.end && len(to.ids) < room {
		place, lo, hi := l.take(room - len(to.ids))
		if lo == hi {
			continue
		}
		entry := int32(l.lo) + place
		row := l.row[entry]
		excluded := t.excluded(entry, row)
		if plain && !adjacency.ContainsAny(res.Edges[lo:hi], excluded) {
			to.ids = append(to.ids, res.Targets[lo:hi]...)
			below.row = runtime.AppendRepeated(below.row, row, hi-lo)
			if !last {
				below.edge = append(below.edge, res.Edges[lo:hi]...)
				to.parent = runtime.AppendRepeated(to.parent, entry, hi-lo)
			}
			continue
		}
		for i := lo; i < hi; i++ {
			v := res.Targets[i]
			ok := !test || t.ends.Holds(l.reader.Sets[i])
			if t.near == nil && last && (!ok || t.to != nil && t.to[row] != v) {
				continue
			}
			id := res.Edges[i]
			if slices.Contains(excluded, id) || t.near != nil && !t.reaches(v, depth) {
				continue
			}
			t.truncated = t.truncated || last
			to.ids = append(to.ids, v)
			below.edge = append(below.edge, id)
			to.parent = append(to.parent, entry)
			below.row = append(below.row, row)
			if tests {
				below.ok = append(below.ok, ok)
			}
			if perRow {
				below.edgeAt = append(below.edgeAt, int32(i))
				below.source = append(below.source, l.ids[entry])
			}
			if t.values {
				below.value = append(below.value, graph.EdgeRefValue(t.writer.Keep(l.reader.Edge(i, l.ids[entry]))))
			}
		}
	}
}

// excluded returns the edges that a trail of the current level contains, and those that its row excludes.
func (t *trails) excluded(entry, row int32) []graph.EdgeID {
	t.chain = append(t.chain[:0], t.uniqueness.Excluded(row)...)
	for d := t.depth; d > 0; d-- {
		l := t.levels[d]
		t.chain = append(t.chain, l.edge[entry])
		entry = l.parent[entry]
	}
	return t.chain
}

// filter drops the last entries of below that fail a condition on edge and row.
func (t *trails) filter(ctx context.Context, l, below *trailLevel) error {
	from := len(below.ids) - len(below.edgeAt)
	keep, err := l.reader.Filter.FilterRows(ctx, l.reader, below.edgeAt, below.source, t.b, below.row[from:])
	if err != nil {
		return err
	}
	n, tests := from, t.tests(t.depth+1)
	for _, k := range keep {
		e := from + int(k)
		below.ids[n], below.edge[n] = below.ids[e], below.edge[e]
		below.parent[n], below.row[n] = below.parent[e], below.row[e]
		if tests {
			below.ok[n] = below.ok[e]
		}
		if t.values {
			below.value[n] = below.value[e]
		}
		n++
	}
	below.ids, below.edge, below.parent, below.row = below.ids[:n], below.edge[:n], below.parent[:n], below.row[:n]
	if tests {
		below.ok = below.ok[:n]
	}
	if t.values {
		below.value = below.value[:n]
	}
	below.edgeAt, below.source = below.edgeAt[:0], below.source[:0]
	return nil
}

// edges appends the edges of the trail that next has found to dst, from its start or from its end.
func (t *trails) edges(dst []graph.Value, entry int, reversed bool) []graph.Value {
	at := len(dst)
	e := int32(entry)
	for d := t.depth; d > 0; d-- {
		dst = append(dst, t.levels[d].value[e])
		e = t.levels[d].parent[e]
	}
	if !reversed {
		slices.Reverse(dst[at:])
	}
	return dst
}

// vertices appends the vertices of the trail that next has found to dst, from its start.
func (t *trails) vertices(dst []graph.Value, entry int) []graph.Value {
	at := len(dst)
	e := int32(entry)
	for d := t.depth; d >= 0; d-- {
		dst = append(dst, graph.VertexValue(t.levels[d].ids[e]))
		if d > 0 {
			e = t.levels[d].parent[e]
		}
	}
	slices.Reverse(dst[at:])
	return dst
}

// release returns the memory.
func (t *trails) release() {
	t.acct.Release()
	for _, l := range t.levels {
		l.release()
	}
	t.levels, t.depth = nil, -1
}
