package changelog

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// randomValue returns a null, or a value of one of a few types.
func randomValue(r *rand.Rand, null bool) graph.Value {
	switch n := r.IntN(6); {
	case n == 0 && null:
		return graph.Value{}
	case n <= 2:
		return graph.IntValue(r.Int64N(3))
	case n == 3:
		return graph.StringValue(strings.Repeat("x", r.IntN(40)))
	case n == 4:
		return graph.FloatValue(float64(r.IntN(3)))
	}
	return graph.ListValue([]graph.Value{graph.IntValue(r.Int64()), graph.StringValue("é")})
}

// randomProps returns properties of at most n keys.
func randomProps(r *rand.Rand, n int, null bool) []graph.Property {
	ps := []graph.Property{}
	for id := 1; id <= n; id++ {
		if r.IntN(2) == 0 {
			ps = append(ps, graph.Property{ID: graph.PropID(id), Value: randomValue(r, null)})
		}
	}
	return ps
}

func randomChange(r *rand.Rand) Change {
	c := Change{Op: Op(r.IntN(4)), Tx: r.IntN(2)}
	if c.Op == Skipped {
		for i := range c.Counts {
			c.Counts[i] = r.Uint64()
		}
		return c
	}
	c.Full = r.IntN(2) == 0
	c.Keys = randomProps(r, 2, false)
	c.Before.Props, c.After.Props, c.Src.Keys, c.Dst.Keys = []graph.Property{}, []graph.Property{}, []graph.Property{}, []graph.Property{}
	if c.Op == Changed {
		c.Before.Props, c.After.Props = randomProps(r, 4, true), nil
		for _, p := range c.Before.Props {
			c.After.Props = append(c.After.Props, graph.Property{ID: p.ID, Value: randomValue(r, true)})
		}
	} else if c.Op == Created {
		c.After.Props = randomProps(r, 4, false)
	} else {
		c.Before.Props = randomProps(r, 4, false)
	}
	if c.IsEdge = r.IntN(2) == 0; c.IsEdge {
		c.Edge = graph.Edge{ID: graph.EdgeID(r.Uint64()), Src: graph.VertexID(r.Uint64()), Dst: graph.VertexID(r.IntN(9)), Type: graph.TypeID(r.IntN(3))}
		c.Src, c.Dst = End{graph.LabelSet(r.IntN(5)), randomProps(r, 1, false)}, End{graph.LabelSet(r.IntN(5)), []graph.Property{}}
		return c
	}
	c.Vertex = graph.VertexID(r.Uint64())
	c.Before.Labels, c.After.Labels = graph.LabelSet(r.IntN(3)), graph.LabelSet(r.IntN(3))
	return c
}

// randomRows returns changes like one as columns, and one by one.
func randomRows(r *rand.Rand, like *Change) (*Rows, []Change) {
	n := r.IntN(600)
	rows, alike := &Rows{Like: *like}, make([]Change, n)
	cols := 1
	if like.IsEdge {
		cols = 5
	}
	rows.IDs = make([][]uint64, cols)
	for k := range rows.IDs {
		rows.IDs[k] = make([]uint64, n)
	}
	if r.IntN(2) == 0 {
		rows.Pick = make([]int32, n)
	}
	for i := range alike {
		c := copyOf(like)
		ids := [5]uint64{r.Uint64(), r.Uint64N(100), r.Uint64N(100), r.Uint64N(5), r.Uint64N(5)}
		if c.IsEdge {
			c.Edge.ID, c.Edge.Src, c.Edge.Dst = graph.EdgeID(ids[0]), graph.VertexID(ids[1]), graph.VertexID(ids[2])
			c.Src.Labels, c.Dst.Labels = graph.LabelSet(ids[3]), graph.LabelSet(ids[4])
		} else {
			c.Vertex = graph.VertexID(ids[0])
		}
		row := i
		if rows.Pick != nil {
			row = n - 1 - i
			rows.Pick[i] = int32(row)
		}
		for k := range rows.IDs {
			rows.IDs[k][row] = ids[k]
		}
		col := 0
		for _, ps := range [...][]graph.Property{c.Before.Props, c.After.Props, c.Keys, c.Src.Keys, c.Dst.Keys} {
			for p := range ps {
				ps[p].Value = randomValue(r, true)
				if col == len(rows.Values) {
					rows.Values = append(rows.Values, make([]graph.Value, n))
				}
				rows.Values[col][row] = ps[p].Value
				col++
			}
		}
		alike[i] = c
	}
	return rows, alike
}

// cellsOf returns the values of a change.
func cellsOf(r *rand.Rand, c *Change) (cells [][]byte) {
	for _, ps := range [...][]graph.Property{c.Before.Props, c.After.Props, c.Keys, c.Src.Keys, c.Dst.Keys} {
		for _, p := range ps {
			cell, _ := keys.AppendCell(nil, p.Value)
			if p.Value.IsNull() && r.IntN(2) == 0 {
				cell = nil
			}
			cells = append(cells, cell)
		}
	}
	return cells
}

// copyOf returns a change that the next one does not overwrite.
func copyOf(c *Change) Change {
	out := *c
	for _, ps := range [...]*[]graph.Property{&out.Before.Props, &out.After.Props, &out.Keys, &out.Src.Keys, &out.Dst.Keys} {
		*ps = append([]graph.Property{}, *ps...)
	}
	return out
}

// What is encoded is what is decoded, in any number of parts, and through the form of several commits.
func TestRecords(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		var e Encoder
		var want []Change
		for range r.IntN(3000) {
			c := randomChange(r)
			e.Begin(c.Tx)
			if c.Op != Skipped && r.IntN(500) == 0 {
				rows, alike := randomRows(r, &c)
				require.NoError(t, e.AddRows(rows))
				want = append(want, alike...)
			}
			for range 1 + r.IntN(3)*r.IntN(3) {
				if r.IntN(4) == 0 && c.Op != Skipped {
					e.AddCells(&c, cellsOf(r, &c))
				} else {
					require.NoError(t, e.Add(&c))
				}
				want = append(want, c)
			}
		}
		require.Equal(t, len(want) == 0, e.Empty())
		origins := []Origin{{Started: 5, User: "ann", Protocol: "bolt", Metadata: `{"a":1}`}, {Client: "127.0.0.1:1"}}
		commit := Commit{Number: seed}
		size := e.Bytes()
		require.NoError(t, e.Records(-7, origins, func(part int, b []byte) error {
			require.Equal(t, len(commit.Records), part)
			commit.Records = append(commit.Records, b)
			return nil
		}))
		var stored int
		for _, b := range commit.Records {
			stored += len(b)
		}
		require.LessOrEqual(t, size, stored)
		back, rest, err := ReadCommit(append(commit.AppendTo(nil), "rest"...))
		require.NoError(t, err)
		require.Equal(t, "rest", string(rest))
		require.Equal(t, []any{int64(-7), origins, seed}, []any{back.Time, back.Origins, back.Number})
		at := 0
		require.NoError(t, back.Each(func(c *Change) error {
			require.Equal(t, show(&want[at]), show(c))
			at++
			return nil
		}))
		require.Len(t, want, at)
	}
}

// show writes a change as text.
func show(c *Change) string {
	out := fmt.Sprintf("%d %v %v %d %v %v %d %d %v %v %v", c.Op, c.IsEdge, c.Full, c.Tx, c.Vertex, c.Edge, c.Before.Labels, c.After.Labels, c.Src.Labels,
		c.Dst.Labels, c.Counts)
	for _, ps := range [...][]graph.Property{c.Before.Props, c.After.Props, c.Keys, c.Src.Keys, c.Dst.Keys} {
		out += ";"
		for _, p := range ps {
			cell, _ := keys.AppendCell(nil, p.Value)
			out += fmt.Sprintf(" %d=%x", p.ID, cell)
		}
	}
	return out
}

// A commit is decoded, or refused, whatever its bytes are.
func FuzzReadCommit(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		var e Encoder
		for range r.IntN(20) {
			c := randomChange(r)
			e.Begin(c.Tx)
			require.NoError(f, e.Add(&c))
			if seed > 4 && c.Op == Created && !c.IsEdge {
				e.AddRange(&c, Range{c.Vertex, r.IntN(5)})
			}
		}
		c := Commit{Number: seed}
		require.NoError(f, e.Records(int64(seed), []Origin{{User: "ann"}}, func(_ int, b []byte) error {
			c.Records = append(c.Records, b)
			return nil
		}))
		c.Records = append(c.Records, SchemaRecord(int64(seed), []byte("a change")))
		f.Add(c.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, rest, err := ReadCommit(b)
		if err != nil {
			require.ErrorIs(t, err, ErrRecord)
			return
		}
		require.LessOrEqual(t, len(rest), len(b))
		if _, err := c.Schema(func([]byte) error { return nil }); err != nil {
			require.ErrorIs(t, err, ErrRecord)
		}
		if err := c.Old(func(graph.VertexID) {}); err != nil {
			require.ErrorIs(t, err, ErrRecord)
		}
		if ranges, err := c.Ranges(); err == nil {
			vertices := 0
			for _, of := range ranges {
				vertices = max(vertices, of.N)
			}
			if len(ranges) > 16 || vertices > 1<<12 {
				return
			}
		}
		if err := c.Expand(columnsOf); err != nil {
			require.ErrorIs(t, err, ErrRecord)
			return
		}
		n := 0
		err = c.Each(func(c *Change) error {
			if n++; n > 1<<16 {
				return io.EOF
			}
			return nil
		})
		if err != nil && err != io.EOF { //nolint:errorlint // as returned
			require.ErrorIs(t, err, ErrRecord)
		}
	})
}

// Changes of one element become one, whose states are the first before and the last after.
func TestMerger(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		full := r.IntN(2) == 0
		now := map[uint64]map[graph.PropID]graph.Value{} // by vertex
		for id := range uint64(3) {
			now[id] = map[graph.PropID]graph.Value{1: graph.IntValue(int64(id))}
		}
		first := clone(now)
		var m Merger
		next := uint64(3)
		for range r.IntN(20) {
			id := r.Uint64N(next + 1)
			was, ok := now[id]
			c := Change{Vertex: graph.VertexID(id), Full: full}
			switch {
			case !ok && id == next:
				next++
				c.Op, c.After.Props = Created, randomProps(r, 3, false)
				now[id] = mapOf(c.After.Props)
			case !ok:
				continue
			case r.IntN(4) == 0:
				c.Op, c.Before.Props = Deleted, propsIn(was)
				delete(now, id)
			default:
				c.Op = Changed
				set := randomProps(r, 3, true)
				if full {
					set = Overlay(Overlay(nil, propsIn(was)), set)
				}
				for _, p := range set {
					c.Before.Props = append(c.Before.Props, graph.Property{ID: p.ID, Value: was[p.ID]})
				}
				c.After.Props = set
				was = mapOf(Overlay(propsIn(was), set))
				now[id] = was
			}
			m.Add(&c)
		}
		seen := map[uint64]bool{}
		got := clone(first)
		for _, c := range m.Take() {
			id := uint64(c.Vertex)
			require.False(t, seen[id])
			seen[id] = true
			was, ok := first[id]
			require.Equal(t, ok, c.Op != Created)
			if c.Op == Deleted || full && c.Op == Changed {
				require.Equal(t, text(propsIn(was)), text(propsIn(mapOf(c.Before.Props))))
			}
			if c.Op == Deleted {
				delete(got, id)
				continue
			}
			for _, p := range c.Before.Props {
				require.True(t, keys.Identical(was[p.ID], p.Value))
			}
			got[id] = mapOf(Overlay(propsIn(was), c.After.Props))
		}
		require.Len(t, got, len(now))
		for id, ps := range now {
			require.Equal(t, text(propsIn(ps)), text(propsIn(got[id])))
		}
	}
}

func clone(m map[uint64]map[graph.PropID]graph.Value) map[uint64]map[graph.PropID]graph.Value {
	out := map[uint64]map[graph.PropID]graph.Value{}
	for id, ps := range m {
		out[id] = maps.Clone(ps)
	}
	return out
}

// mapOf returns properties by key, without nulls.
func mapOf(ps []graph.Property) map[graph.PropID]graph.Value {
	m := map[graph.PropID]graph.Value{}
	for _, p := range ps {
		if !p.Value.IsNull() {
			m[p.ID] = p.Value
		}
	}
	return m
}

// propsIn returns properties in the order of their keys.
func propsIn(m map[graph.PropID]graph.Value) (ps []graph.Property) {
	for _, id := range slices.Sorted(maps.Keys(m)) {
		ps = append(ps, graph.Property{ID: id, Value: m[id]})
	}
	return ps
}

func text(ps []graph.Property) string { return show(&Change{After: State{Props: ps}}) }

// BenchmarkEncoder encodes new edges of one type with a property, one by one and as columns; its figure is for an edge.
func BenchmarkEncoder(b *testing.B) {
	const n = 4096
	r := rand.New(rand.NewPCG(1, 1))
	c := Change{Op: Created, IsEdge: true, Edge: graph.Edge{Type: 1}, After: State{Props: []graph.Property{{ID: 7}}}}
	rows := &Rows{Like: c, IDs: make([][]uint64, 5), Values: [][]graph.Value{make([]graph.Value, n)}}
	for i := range n {
		for k, id := range [...]uint64{uint64(i), r.Uint64N(1e6), r.Uint64N(1e6), 3, 4} {
			rows.IDs[k] = append(rows.IDs[k], id)
		}
		rows.Values[0][i] = graph.IntValue(r.Int64N(1e9))
	}
	each := func(name string, add func(e *Encoder) error) {
		b.Run(name, func(b *testing.B) {
			for i := 0; i < b.N; i += n {
				var e Encoder
				require.NoError(b, add(&e))
			}
		})
	}
	each("add", func(e *Encoder) error {
		for i := range n {
			c.Edge.ID, c.Edge.Src, c.Edge.Dst = graph.EdgeID(rows.IDs[0][i]), graph.VertexID(rows.IDs[1][i]), graph.VertexID(rows.IDs[2][i])
			c.After.Props[0].Value = rows.Values[0][i]
			if err := e.Add(&c); err != nil {
				return err
			}
		}
		return nil
	})
	each("rows", func(e *Encoder) error { return e.AddRows(rows) })
}
