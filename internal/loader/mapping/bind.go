package mapping

import (
	"slices"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/shard"
)

// Bound holds the rules of an input for one file, with columns resolved to slots.
type Bound struct {
	Columns  []string // names by slot, for messages
	Cells    int      // the number of cells in a record; 0 means any
	Keys     *record.Keys
	Where    Cond // or nil
	Vertices []VertexRule
	Edges    []EdgeRule
}

// VertexRule makes vertices from rows.
type VertexRule struct {
	Rule
	Labels []LabelRule
	ID     KeyRule
	// OnDuplicate is nil if the load decides.
	OnDuplicate *shard.OnDuplicate
}

// EdgeRule makes edges from rows.
type EdgeRule struct {
	Rule
	Type     LabelRule
	From, To KeyRule
	Dangling shard.Dangling
}

// Rule is the common part of vertex and edge rules.
type Rule struct {
	Props  []PropRule
	Action ActionRule
	Where  Cond  // or nil
	Unfold []int // slots with lists; each element makes a row
	// ListDelimiter separates the elements of unfolded cells.
	ListDelimiter []byte
}

// PropRule sets a property from a cell or, if Slot is negative, to a constant.
type PropRule struct {
	Name     string
	Slot     int
	Constant graph.Value
	Conv     *Conv
	Strategy shard.Strategy
}

// KeyRule is an external key: one cell, or several joined.
type KeyRule struct {
	Space *Space
	Slots []int
	Conv  *Conv
}

// LabelRule is a label or a type: Name or, if Slot is not negative, the text of a cell.
type LabelRule struct {
	Name   string
	Slot   int
	Values *Dict // or nil: the text is the name
	Mapped []string
	Split  []byte // separates several labels in one cell, or nil
	Conv   *Conv  // for nulls
}

// ActionRule is the action of rows: Fixed or, if Slot is not negative, the one in a cell.
type ActionRule struct {
	Fixed  shard.Action
	Slot   int
	Values *Dict
	Mapped []shard.Action
	Conv   *Conv // for nulls
}

// Bind resolves the columns of an input for a file with this header. Without a header, columns have positions only; JSON lines have keys
// instead.
func (in *Input) Bind(header []string, cells int, json bool) (*Bound, error) {
	b := &binder{in: in, header: header, out: &Bound{Cells: cells}}
	if json {
		b.out.Keys = &record.Keys{}
	} else if header != nil {
		b.out.Columns = header
	} else {
		for i := range cells {
			b.out.Columns = append(b.out.Columns, strconv.Itoa(i))
		}
	}
	for _, c := range slices.Concat(in.Selected, in.Ignored) {
		if _, err := b.slot(c); err != nil {
			return nil, err
		}
	}
	var err error
	if b.out.Where, err = b.cond(in.Where, &in.Options); err != nil {
		return nil, err
	}
	for _, v := range in.Vertices {
		r := VertexRule{OnDuplicate: v.onDuplicate}
		used := append([]Column(nil), v.id.columns...)
		for i := range v.labels {
			l, err := b.label(&v.labels[i], &v.opts)
			if err != nil {
				return nil, err
			}
			r.Labels = append(r.Labels, l)
			if c := v.labels[i].column; c != nil {
				used = append(used, *c)
			}
		}
		if r.ID, err = b.key(&v.id, &v.opts); err != nil {
			return nil, err
		}
		if r.Rule, err = b.rule(&v.rule, used); err != nil {
			return nil, err
		}
		b.out.Vertices = append(b.out.Vertices, r)
	}
	for _, e := range in.Edges {
		r := EdgeRule{Dangling: e.dangling}
		used := append(append([]Column(nil), e.from.columns...), e.to.columns...)
		if c := e.typ.column; c != nil {
			used = append(used, *c)
		}
		if r.Type, err = b.label(&e.typ, &e.opts); err != nil {
			return nil, err
		}
		if r.From, err = b.key(&e.from, &e.opts); err != nil {
			return nil, err
		}
		if r.To, err = b.key(&e.to, &e.opts); err != nil {
			return nil, err
		}
		if r.Rule, err = b.rule(&e.rule, used); err != nil {
			return nil, err
		}
		b.out.Edges = append(b.out.Edges, r)
	}
	for _, s := range in.strategies {
		if !b.out.sets(s.Name) {
			return nil, s.place.errorf("no vertices or edges of this input have a property of that name")
		}
	}
	return b.out, nil
}

// sets reports whether a rule sets a property of that name.
func (b *Bound) sets(name string) bool {
	named := func(p PropRule) bool { return p.Name == name }
	return slices.ContainsFunc(b.Vertices, func(r VertexRule) bool { return slices.ContainsFunc(r.Props, named) }) ||
		slices.ContainsFunc(b.Edges, func(r EdgeRule) bool { return slices.ContainsFunc(r.Props, named) })
}

type binder struct {
	in     *Input
	header []string
	out    *Bound
}

// slot resolves a column.
func (b *binder) slot(c Column) (int, error) {
	switch {
	case b.out.Keys != nil:
		if c.Name == "" {
			return 0, c.place.errorf("JSON lines have no column %d; use a key", c.Index)
		}
		n := b.out.Keys.Add(c.Name)
		if n == len(b.out.Columns) {
			b.out.Columns = append(b.out.Columns, c.Name)
		}
		return n, nil
	case c.Name == "":
		if c.Index >= b.out.Cells {
			return 0, c.place.errorf("column %d does not exist; the file %s has %d columns, from 0", c.Index, b.in.Paths[0], b.out.Cells)
		}
		return c.Index, nil
	case b.header == nil:
		return 0, c.place.errorf("the file %s has no header; give the position of column %q", b.in.Paths[0], c.Name)
	}
	found := -1
	for i, name := range b.header {
		if name != c.Name {
			continue
		}
		if found >= 0 {
			return 0, c.place.errorf("the file %s has two columns %q, at %d and %d; give the position", b.in.Paths[0], c.Name, found, i)
		}
		found = i
	}
	if found < 0 {
		return 0, c.place.errorf("unknown column %q; the columns of %s are %q", c.Name, b.in.Paths[0], b.header)
	}
	return found, nil
}

func (b *binder) cond(f *Filter, o *Options) (Cond, error) {
	if f == nil {
		return nil, nil
	}
	fb := &filterBinder{slot: b.slot, conv: o.conv(Type{}), place: f.place}
	return fb.bind(f.expr)
}

func (b *binder) key(k *key, o *Options) (KeyRule, error) {
	t := Type{Kind: graph.String}
	if k.space.Integer {
		t.Kind = graph.Int
	}
	r := KeyRule{Space: k.space, Conv: o.conv(t)}
	for _, c := range k.columns {
		n, err := b.slot(c)
		if err != nil {
			return r, err
		}
		r.Slots = append(r.Slots, n)
	}
	return r, nil
}

func (b *binder) label(l *label, o *Options) (LabelRule, error) {
	r := LabelRule{Name: l.name, Slot: -1, Values: l.values, Mapped: l.mapped}
	if l.split != "" {
		r.Split = []byte(l.split)
	}
	if l.column == nil {
		return r, nil
	}
	r.Conv = o.conv(Type{Kind: graph.Int}) // empty text is null, quoted or not
	var err error
	r.Slot, err = b.slot(*l.column)
	return r, err
}

func (b *binder) rule(r *rule, used []Column) (Rule, error) {
	out := Rule{Action: ActionRule{Fixed: r.action.fixed, Slot: -1}, ListDelimiter: []byte(r.opts.ListDelimiter)}
	var err error
	if a := &r.action; a.column != nil {
		used = append(used, *a.column)
		out.Action = ActionRule{Values: a.values, Mapped: a.mapped, Conv: r.opts.conv(Type{Kind: graph.Int})}
		if out.Action.Slot, err = b.slot(*a.column); err != nil {
			return out, err
		}
	}
	if out.Where, err = b.cond(r.where, &r.opts); err != nil {
		return out, err
	}
	for _, c := range r.unfold {
		n, err := b.slot(c)
		if err != nil {
			return out, err
		}
		out.Unfold = append(out.Unfold, n)
	}
	taken := map[int]bool{}
	for _, c := range used {
		n, err := b.slot(c)
		if err != nil {
			return out, err
		}
		taken[n] = true
	}
	for i := range r.properties {
		p := &r.properties[i]
		q := PropRule{Name: p.name, Slot: -1, Constant: p.constant, Conv: p.conv, Strategy: p.strategy}
		if p.column != nil {
			if q.Slot, err = b.slot(*p.column); err != nil {
				return out, err
			}
			taken[q.Slot] = true
		}
		out.Props = append(out.Props, q)
	}
	return out, b.rest(r, &out, taken)
}

// rest adds properties for the selected columns, or for those not ignored.
func (b *binder) rest(r *rule, out *Rule, taken map[int]bool) error {
	if r.rest == nil {
		return nil
	}
	add := func(slot int) {
		name := b.out.Columns[slot]
		for _, p := range out.Props {
			if p.Name == name {
				return
			}
		}
		out.Props = append(out.Props, PropRule{
			Name: name, Slot: slot, Conv: r.opts.conv(Type{}), Strategy: r.opts.strategies[name],
		})
	}
	if r.rest.ignored == nil {
		for _, c := range r.rest.selected {
			n, err := b.slot(c)
			if err != nil {
				return err
			}
			add(n)
		}
		return nil
	}
	if b.header == nil {
		return r.place.errorf("ignored needs a header with the names of the columns; use selected")
	}
	for _, c := range r.rest.ignored {
		n, err := b.slot(c)
		if err != nil {
			return err
		}
		taken[n] = true
	}
	for slot := range b.header {
		if !taken[slot] {
			add(slot)
		}
	}
	return nil
}
