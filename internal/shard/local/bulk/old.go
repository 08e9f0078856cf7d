package bulk

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// oldVertices are rows of similar groups whose vertices exist.
type oldVertices struct {
	first *shard.LoadVertices // of the groups
	rows  []oldRow
}

type oldRow struct {
	id         graph.VertexID
	group, row int32
}

func (o *oldVertices) add(id graph.VertexID, group, row int) {
	o.rows = append(o.rows, oldRow{id, int32(group), int32(row)})
}

// changeOld changes existing vertices. It reads their old values together. If an index is involved, it processes rows one by one.
func (b *Batch) changeOld(d *index.Def, old *oldVertices) error {
	for _, r := range old.rows {
		if b.made(r.id) != 0 {
			if err := b.settle(); err != nil {
				return err
			}
			break
		}
	}
	cols, ok := b.besidesKey(d, old)
	c := &changer{b: b, first: old.first, cols: cols}
	ok = ok && c.order()
	if ok {
		var err error
		if ok, err = c.read(old); err != nil {
			return err
		}
	}
	if ok {
		err := c.run()
		b.now.AddMany(numbers(c.wrote))
		return err
	}
	if err := b.settle(); err != nil {
		return err
	}
	for _, o := range old.rows {
		r, err := b.changeRow(d, &b.l.Vertices[o.group], int(o.row), o.id)
		if err != nil {
			return err
		}
		if r != nil {
			b.refuse(false, int(o.group), int(o.row), r)
		}
	}
	return nil
}

// made returns the label set of a vertex that lies in a bulk, else 0.
func (b *Batch) made(id graph.VertexID) graph.LabelSet {
	for i := range b.ranges {
		if r := &b.ranges[i]; id >= r.first && id < r.first+graph.VertexID(r.n) {
			return r.set
		}
	}
	return 0
}

// besidesKey returns the columns but for those that only repeat the key; ok is false if one of those says something else.
func (b *Batch) besidesKey(d *index.Def, old *oldVertices) (cols []int, ok bool) {
	for c := range old.first.Props {
		if d.Bare() || old.first.Props[c].Prop != d.PropIDs[0] {
			cols = append(cols, c)
			continue
		}
		if old.first.Props[c].Strategy != shard.Override {
			return nil, false
		}
		for _, o := range old.rows {
			group := &b.l.Vertices[o.group]
			k, v := group.Keys[o.row], group.Props[c].Values[o.row]
			same := v.IsNull() || v.Kind() == k.Kind() && (k.Kind() == graph.Int && v.Int() == k.Int() || k.Kind() == graph.String && v.Str() == k.Str())
			if !same {
				return nil, false
			}
		}
	}
	return cols, true
}

// changer changes existing vertices.
type changer struct {
	b     *Batch
	first *shard.LoadVertices // of the groups, which are alike
	cols  []int               // in the order of their properties
	props []graph.PropID      // beside cols
	rows  []oldRow            // by vertex, then row
	ids   []graph.VertexID    // each once
	sets  []graph.LabelSet    // beside ids
	vals  []changing          // beside cols
	again []uint64            // those of ids that earlier rows of the load have written
	log   *write.Cells        // nil if nothing is logged
	at    int                 // of ids, the one that is being changed
	cells [2][][]byte         // its cells before and after, for log
	wrote []graph.VertexID    // those that a row has written first
}

// changing is a property of a vertex that is being changed.
type changing struct {
	was  []byte    // its cell
	now  []byte    // its cell after the rows so far
	next []byte    // the result of a row, empty if none
	bufs [2][]byte // memory for now and next
	at   int       // the one for next
	set  bool      // by a row
}

// order puts the columns in the order of their properties; ok is false if two have the same.
func (c *changer) order() (ok bool) {
	prop := func(col int) graph.PropID { return c.first.Props[col].Prop }
	slices.SortFunc(c.cols, func(x, y int) int { return cmp.Compare(prop(x), prop(y)) })
	for k, col := range c.cols {
		if k > 0 && prop(c.cols[k-1]) == prop(col) {
			return false
		}
		c.props = append(c.props, prop(col))
	}
	c.vals = make([]changing, len(c.cols))
	return true
}

// read reads the values that the rows change; ok is false if an index is involved, or the commit log keeps all that the vertices have.
func (c *changer) read(old *oldVertices) (ok bool, err error) {
	b := c.b
	if b.log.Mode() == changelog.Full {
		return false, nil
	}
	c.rows = slices.Clone(old.rows)
	slices.SortFunc(c.rows, func(x, y oldRow) int {
		return cmp.Or(cmp.Compare(x.id, y.id), cmp.Compare(x.group, y.group), cmp.Compare(x.row, y.row))
	})
	for _, r := range c.rows {
		if n := len(c.ids); n == 0 || c.ids[n-1] != r.id {
			c.ids = append(c.ids, r.id)
		}
	}
	c.again = b.repeated(c.ids)
	c.sets = make([]graph.LabelSet, len(c.ids))
	if err := b.tx.LabelSets(b.ctx, c.ids, c.sets); err != nil {
		return false, err
	}
	last := ^graph.LabelSet(0)
	seen := map[graph.LabelSet]bool{}
	for _, set := range c.sets {
		if set == last || seen[set] {
			continue
		}
		last, seen[set] = set, true
		then, err := b.union(set, c.first.Labels)
		if err != nil {
			return false, err
		}
		if then != set || c.indexed(set) {
			return false, nil
		}
		if err := c.present(then); err != nil {
			return false, err
		}
	}
	c.log, err = b.log.Cells(b.ctx, c.ids, c.sets, c.props)
	return true, err
}

// indexed reports whether an index over vertices of a label set holds a property that changes.
func (c *changer) indexed(set graph.LabelSet) bool {
	for _, l := range c.b.g.Labels(set) {
		for _, d := range c.b.defs.ByLabel[l] {
			if d.Stamped() {
				return true
			}
			for _, col := range c.cols {
				if slices.Contains(d.PropIDs, c.first.Props[col].Prop) {
					return true
				}
			}
		}
	}
	return false
}

func (c *changer) present(set graph.LabelSet) error {
	var props []graph.Property
	for _, col := range c.cols {
		props = append(props, graph.Property{ID: c.first.Props[col].Prop, Value: graph.BoolValue(true)})
	}
	return c.b.g.Present(set, props)
}

// run combines and writes.
func (c *changer) run() error {
	b := c.b
	for len(c.cols) == 0 && len(c.rows) > 0 {
		if err := c.change(nil, c.next(), nil); err != nil {
			return err
		}
	}
	for from := 0; from < len(c.ids) && len(c.cols) > 0; {
		no := c.ids[from].Shard()
		n, _ := slices.BinarySearchFunc(c.ids[from:], no+1, func(id graph.VertexID, no int) int { return id.Shard() - no })
		ids, sets, w := c.ids[from:from+n], c.sets[from:from+n], b.tx.Writers()[no]
		err := w.Vertices.Merge(b.ctx, ids, sets, c.props, func(_ int, cells []staging.MergeCell) error {
			return c.change(w, c.next(), cells)
		})
		if err != nil {
			return err
		}
		from += n
	}
	return nil
}

// next takes the rows of the next vertex.
func (c *changer) next() []oldRow {
	n := 1
	for n < len(c.rows) && c.rows[n].id == c.rows[0].id {
		n++
	}
	rows := c.rows[:n]
	c.rows = c.rows[n:]
	return rows
}

// change carries out the rows of one vertex.
func (c *changer) change(w *staging.Writer, rows []oldRow, cells []staging.MergeCell) error {
	b := c.b
	if err := b.alive(); err != nil {
		return err
	}
	for k := range c.vals {
		v := &c.vals[k]
		v.now, v.set = cells[k].Old, false
		if err := v.resolve(w); err != nil {
			return err
		}
		v.was = v.now
	}
	id := rows[0].id
	for len(c.again) > 0 && c.again[0] < uint64(id) {
		c.again = c.again[1:]
	}
	again := len(c.again) > 0 && c.again[0] == uint64(id)
	how := c.first.OnDuplicate
	for _, r := range rows {
		var bad *reject
		leaves := again && how != shard.DuplicateOverwrite
		if leaves {
			bad = leave(how, &b.l.Counts.Vertices)
		} else {
			bad = c.combine(r)
		}
		if bad != nil {
			b.refuse(false, int(r.group), int(r.row), bad)
		}
		if leaves || bad != nil {
			continue
		}
		changed := false
		for k := range c.vals {
			if v := &c.vals[k]; len(v.next) > 0 && !bytes.Equal(v.next, v.now) {
				v.now, v.at, v.set, changed = v.next, 1-v.at, true, true
			}
		}
		b.l.Counts.Vertices.Existing(changed)
		if again {
			b.l.Counts.Vertices.Repeated++
		} else {
			c.wrote, again = append(c.wrote, id), true
		}
	}
	some := false
	for k := range c.vals {
		if v := &c.vals[k]; v.set {
			cells[k].New, some = v.now, true
		}
	}
	c.record(some)
	return nil
}

// record tells the commit log of the vertex that was changed, if it was.
func (c *changer) record(changed bool) {
	set := c.sets[c.at]
	c.at++
	switch {
	case c.log == nil:
	case !changed:
		c.log.Skip()
	default:
		for k := range c.vals {
			c.cells[0], c.cells[1] = append(c.cells[0], c.vals[k].was), append(c.cells[1], c.vals[k].now)
		}
		c.log.Add(set, c.cells[0], c.cells[1])
		c.cells[0], c.cells[1] = c.cells[0][:0], c.cells[1][:0]
	}
}

// resolve replaces the reference to a large value by the value.
func (v *changing) resolve(w *staging.Writer) error {
	if len(v.now) == 0 || v.now[0] != keys.KindRef {
		return nil
	}
	_, ref, _, _, err := keys.Cell(v.now)
	if err != nil {
		return err
	}
	old, err := w.Large(ref)
	if err != nil {
		return err
	}
	v.now, _ = keys.AppendCell(nil, old)
	return nil
}

// combine sets next to the result of a row; empty if it has no value.
func (c *changer) combine(r oldRow) *reject {
	for k, col := range c.cols {
		p, v := &c.b.l.Vertices[r.group].Props[col], &c.vals[k]
		v.next = nil
		if p.Values[r.row].IsNull() {
			continue
		}
		var bad *reject
		if v.next, bad = combineCell(v.bufs[v.at][:0], p.Strategy, v.now, p.Values[r.row]); bad != nil {
			return bad
		}
		v.bufs[v.at] = v.next
	}
	return nil
}
