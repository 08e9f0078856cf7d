package local

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// oldVertices are rows of a group whose vertices are there.
type oldVertices struct{ rows []oldRow }

type oldRow struct {
	id  graph.VertexID
	row int32
}

func (o *oldVertices) add(id graph.VertexID, row int) {
	o.rows = append(o.rows, oldRow{id, int32(row)})
}

// changeOld changes vertices that are there by the rows of group i. What the rows combine with is read for all of them
// together. If an index has a say the rows are carried out one by one.
func (b *loadBatch) changeOld(i int, d *indexDef, old *oldVertices) error {
	group := &b.l.Vertices[i]
	for _, r := range old.rows {
		if b.made(r.id) != 0 {
			if err := b.settle(); err != nil {
				return err
			}
			break
		}
	}
	cols, ok := b.besidesKey(d, group, old)
	c := &changer{b: b, i: i, group: group, cols: cols}
	if ok {
		var err error
		if ok, err = c.read(old); err != nil {
			return err
		}
	}
	if ok {
		return c.run()
	}
	if err := b.settle(); err != nil {
		return err
	}
	for _, o := range old.rows {
		r, err := b.changeRow(d, group, int(o.row), o.id)
		if err != nil {
			return err
		}
		if r != nil {
			b.refuse(false, i, int(o.row), r)
		}
	}
	return nil
}

// made gives the label set of a vertex that lies in a bulk, else 0.
func (b *loadBatch) made(id graph.VertexID) graph.LabelSet {
	for i := range b.ranges {
		if r := &b.ranges[i]; id >= r.first && id < r.first+graph.VertexID(r.n) {
			return r.set
		}
	}
	return 0
}

// besidesKey gives the columns but for those that only repeat the key; ok is false if one of those says something else.
func (b *loadBatch) besidesKey(d *indexDef, group *shard.LoadVertices, old *oldVertices) (cols []int, ok bool) {
	for c := range group.Props {
		if d.bare() || group.Props[c].Prop != d.props[0] {
			cols = append(cols, c)
			continue
		}
		if group.Props[c].Strategy != shard.Override {
			return nil, false
		}
		for _, o := range old.rows {
			k, v := group.Keys[o.row], group.Props[c].Values[o.row]
			same := v.IsNull() || v.Kind() == k.Kind() && (k.Kind() == graph.Int && v.Int() == k.Int() || k.Kind() == graph.String && v.Str() == k.Str())
			if !same {
				return nil, false
			}
		}
	}
	return cols, true
}

// changer changes vertices that are there.
type changer struct {
	b     *loadBatch
	i     int
	group *shard.LoadVertices
	cols  []int
	rows  []oldRow         // by vertex, then row
	ids   []graph.VertexID // each once
	sets  []graph.LabelSet // beside ids: now
	then  []graph.LabelSet // beside ids: afterwards
	vals  [][]graph.Value  // beside cols and ids: what the rows combine with, nil where that does not matter
}

// read reads what the rows change; ok is false if an index has a say in the change.
func (c *changer) read(old *oldVertices) (ok bool, err error) {
	b := c.b
	c.rows = slices.Clone(old.rows)
	slices.SortFunc(c.rows, func(x, y oldRow) int { return cmp.Or(cmp.Compare(x.id, y.id), cmp.Compare(x.row, y.row)) })
	for _, r := range c.rows {
		if n := len(c.ids); n == 0 || c.ids[n-1] != r.id {
			c.ids = append(c.ids, r.id)
		}
	}
	c.sets = make([]graph.LabelSet, len(c.ids))
	if err := b.tx.LabelSets(b.ctx, c.ids, c.sets); err != nil {
		return false, err
	}
	c.then = make([]graph.LabelSet, len(c.ids))
	unions := map[graph.LabelSet]graph.LabelSet{}
	for i, set := range c.sets {
		then, ok := unions[set]
		if !ok {
			if then, err = b.union(set, c.group.Labels); err != nil {
				return false, err
			}
			if then != set || c.indexed(set) {
				return false, nil
			}
			unions[set] = then
			if err := c.present(then); err != nil {
				return false, err
			}
		}
		c.then[i] = then
	}
	var props []graph.PropID
	var at []int
	c.vals = make([][]graph.Value, len(c.cols))
	for k, col := range c.cols {
		if c.group.Props[col].Strategy != shard.Override {
			props, at = append(props, c.group.Props[col].Prop), append(at, k)
		}
	}
	if len(props) == 0 {
		return true, nil
	}
	out := columns(len(props), len(c.ids))
	if err := b.tx.properties(b.ctx, c.ids, props, out); err != nil {
		return false, err
	}
	for k := range at {
		c.vals[at[k]] = out[k]
	}
	return true, nil
}

// indexed reports whether an index over vertices of a label set holds a property that changes.
func (c *changer) indexed(set graph.LabelSet) bool {
	for _, l := range c.b.g.Labels(set) {
		for _, d := range c.b.defs.byLabel[l] {
			if d.stamped() {
				return true
			}
			for _, col := range c.cols {
				if slices.Contains(d.props, c.group.Props[col].Prop) {
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
		props = append(props, graph.Property{ID: c.group.Props[col].Prop, Value: graph.BoolValue(true)})
	}
	return c.b.g.Present(set, props)
}

// run combines and writes.
func (c *changer) run() error {
	b := c.b
	now := make([]graph.Value, len(c.cols))
	set := make([]bool, len(c.cols))
	next := make([]graph.Value, len(c.cols))
	var props []graph.Property
	rows := c.rows
	change := func(i int) ([]graph.Property, error) {
		if err := b.alive(); err != nil {
			return nil, err
		}
		for k := range c.cols {
			now[k], set[k] = graph.Value{}, false
			if c.vals[k] != nil {
				now[k] = c.vals[k][i]
			}
		}
		for ; len(rows) > 0 && rows[0].id == c.ids[i]; rows = rows[1:] {
			if r := c.combine(int(rows[0].row), now, next); r != nil {
				b.refuse(false, c.i, int(rows[0].row), r)
				continue
			}
			for k, v := range next {
				if !v.IsNull() {
					now[k], set[k] = v, true
				}
			}
			b.l.AppliedVertices++
		}
		props = props[:0]
		for k, col := range c.cols {
			if set[k] {
				props = append(props, graph.Property{ID: c.group.Props[col].Prop, Value: now[k]})
			}
		}
		return props, nil
	}
	for from := 0; from < len(c.ids); {
		no := c.ids[from].Shard()
		n, _ := slices.BinarySearchFunc(c.ids[from:], no+1, func(id graph.VertexID, no int) int { return id.Shard() - no })
		at := from
		err := b.tx.ws[no].SetEach(b.ctx, c.ids[at:at+n], c.then[at:at+n], func(i int) ([]graph.Property, error) { return change(at + i) })
		if err != nil {
			return err
		}
		from += n
	}
	return nil
}

// combine sets next to what a row makes of now; null where it says nothing.
func (c *changer) combine(row int, now, next []graph.Value) *reject {
	for k, col := range c.cols {
		p := &c.group.Props[col]
		next[k] = graph.Value{}
		v := p.Values[row]
		if v.IsNull() {
			continue
		}
		var r *reject
		if next[k], r = combine(p.Strategy, now[k], v); r != nil {
			return r
		}
	}
	return nil
}

func hidden(p graph.PropID) bool { return p >= storage.HiddenProps }

func spaceProp(id graph.IndexID) graph.PropID { return storage.HiddenProps | graph.PropID(id) }

// bare reports whether an index is an id space.
func (d *indexDef) bare() bool { return d.Label == "" && d.Type == "" }

// dropKeys takes a vertex's keys out of the id spaces.
func (tx *Tx) dropKeys(ctx context.Context, id graph.VertexID) (props []graph.PropID, err error) {
	for _, d := range tx.g.defs.Load().bare {
		vals, err := tx.valuesOf(ctx, d, id)
		if err != nil {
			return nil, err
		}
		if vals[0].IsNull() {
			continue
		}
		if err := tx.deleteEntry(d, vals, storage.Owner{Vertex: id}); err != nil {
			return nil, err
		}
		props = append(props, d.props[0])
	}
	return props, nil
}
