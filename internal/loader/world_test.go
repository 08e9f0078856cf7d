package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
)

// world is a naive store, a loader over it and a directory of inputs.
type world struct {
	t     *testing.T
	store *oracle.Store
	l     *Loader
	dir   string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: oracle.New(1), dir: t.TempDir()}
	require.NoError(t, w.store.CreateGraph(t.Context(), "default"))
	w.l = New(w.store)
	return w
}

// file writes an input.
func (w *world) file(name, text string) string {
	path := filepath.Join(w.dir, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// plan plans the load of a mapping, or of the directory by its headers if there is none.
func (w *world) plan(text string) (*Plan, error) {
	if text == "" {
		return NewHeaderPlan(w.t.Context(), HeaderOptions{Paths: []string{w.dir}})
	}
	return w.planFrom(text, "")
}

// planFrom plans the load of a mapping with a standard input.
func (w *world) planFrom(text, in string) (*Plan, error) {
	m, err := mapping.Parse("m.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return NewPlan(w.t.Context(), m, w.dir, strings.NewReader(in))
}

// load runs a load.
func (w *world) load(text string, o Options) (*Report, error) {
	p, err := w.plan(text)
	if err != nil {
		return nil, err
	}
	return p.Run(w.t.Context(), NewLocal(w.l), o)
}

// state writes the whole graph, a line a vertex and an edge, sorted. Vertices go by their property id, or by their
// number.
func (w *world) state() string {
	g, err := w.store.Graph("default")
	require.NoError(w.t, err)
	return stateOf(w.t, g)
}

// stateOf is state for any graph.
func stateOf(t *testing.T, g shard.Graph) string {
	tx, err := g.Begin(t.Context(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	ids, _, _, err := tx.Scan(t.Context(), 0, 0, make([]graph.VertexID, 0, 1<<20))
	require.NoError(t, err)
	records := make([]shard.Record, len(ids))
	require.NoError(t, tx.Records(t.Context(), ids, records))
	names := map[graph.VertexID]string{}
	var out []string
	for i, r := range records {
		var line strings.Builder
		names[ids[i]] = fmt.Sprint("#", i)
		for _, l := range g.Labels(r.Labels) {
			fmt.Fprintf(&line, ":%s", g.LabelName(l))
		}
		writeProps(&line, g, r.Props)
		for _, p := range r.Props {
			if g.PropName(p.ID) == "id" {
				names[ids[i]] = g.LabelName(g.Labels(r.Labels)[0]) + " " + string(notation.Append(nil, p.Value))
			}
		}
		out = append(out, line.String())
	}
	var res shard.Neighbours
	for from := 0; from < len(ids); from += res.Done {
		require.NoError(t, tx.Expand(t.Context(), &shard.Expand{Sources: ids[from:], Dir: graph.Out, Edges: true}, &res))
		for i := range res.Done {
			for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
				var line strings.Builder
				e := graph.Edge{ID: res.Edges[k], Src: ids[from+i], Dst: res.Targets[k], Type: res.Types[k]}
				rs := make([]shard.Record, 1)
				require.NoError(t, tx.EdgeRecords(t.Context(), []graph.Edge{e}, rs))
				fmt.Fprintf(&line, "%s -%s-> %s", names[e.Src], g.TypeName(e.Type), names[e.Dst])
				writeProps(&line, g, rs[0].Props)
				out = append(out, line.String())
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}

func writeProps(line *strings.Builder, g graph.Catalog, props []graph.Property) {
	var texts []string
	for _, p := range props {
		texts = append(texts, fmt.Sprintf("%s: %s", g.PropName(p.ID), show(p.Value)))
	}
	slices.Sort(texts)
	fmt.Fprintf(line, " {%s}", strings.Join(texts, ", "))
}

// show writes a value, with its type if the text alone is ambiguous.
func show(v graph.Value) string {
	switch v.Kind() {
	case graph.String:
		return fmt.Sprintf("%q", v.Str())
	case graph.List:
		var l []string
		for _, e := range v.List() {
			l = append(l, show(e))
		}
		return "[" + strings.Join(l, " ") + "]"
	case graph.Int, graph.Float, graph.Bool:
		return string(notation.Append(nil, v))
	}
	return v.Kind().String() + " " + string(notation.Append(nil, v))
}

// errCut is the error of a cut sink.
var errCut = errors.New("cut off")

// cut is a sink that breaks after some batches. The server may or may not apply the batches that it has received.
type cut struct {
	Sink
	sends, acks int // how many of each survive
}

func (c *cut) Send(msg any) error {
	if c.sends--; c.sends < 0 {
		return errCut
	}
	return c.Sink.Send(msg)
}

func (c *cut) Recv() (Ack, error) {
	if c.acks--; c.acks < 0 {
		return Ack{}, errCut
	}
	return c.Sink.Recv()
}

// A load that is cut off at any moment and run again ends in the state of one that was not, sums and appended lists
// included, and keeps the same refused rows.
func TestResume(t *testing.T) {
	const mappingText = `
version: 1
defaults: {delimiter: ","}
inputs:
  - path: [a.csv, b.csv]
    update: {strategies: {visits: SUM, log: APPEND}}
    vertices:
      - label: P
        id: id
        properties: {id: {type: int}, visits: {type: int}, log: {type: "string[]"}}
  - path: e.csv
    edges:
      - {type: E, from: {column: a, idSpace: P}, to: {column: b, idSpace: P}, properties: {w: {type: int}}, update: {strategies: {w: SUM}}}
`
	fill := func(w *world) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, name := range []string{"a.csv", "b.csv"} {
			var b strings.Builder
			b.WriteString("id,visits,log\n")
			for i := range 900 {
				if i%97 == 5 {
					b.WriteString("x,1,\n") // no integer
				}
				fmt.Fprintf(&b, "%d,%d,%s%d\n", r.IntN(60), r.IntN(10), name, i)
			}
			w.file(name, b.String())
		}
		var b strings.Builder
		b.WriteString("a,b,w\n")
		for range 800 {
			fmt.Fprintf(&b, "%d,%d,%d\n", r.IntN(62), r.IntN(60), r.IntN(5)) // some dangle
		}
		w.file("e.csv", b.String())
	}
	for name, onDuplicate := range shard.OnDuplicateNames {
		t.Run(name, func(t *testing.T) {
			run := func(w *world, cutAt func(Sink) Sink, rejects string) (*Report, error) {
				p, err := w.plan(mappingText)
				require.NoError(t, err)
				p.chunk = 512
				return p.Run(w.t.Context(), cutAt(NewLocal(w.l)), Options{
					MaxRejects: Budget{Rows: 1 << 30}, RejectsDir: rejects, Workers: 2, OnDuplicate: onDuplicate,
				})
			}
			uncut := func(s Sink) Sink { return s }
			whole := newWorld(t)
			fill(whole)
			rejects := t.TempDir()
			all, err := run(whole, uncut, rejects)
			require.NoError(t, err)
			want, wantRejects := whole.state(), readAll(t, rejects)
			require.Contains(t, wantRejects, "DanglingEdge")
			require.Contains(t, wantRejects, "BadType")
			require.Equal(t, onDuplicate == shard.DuplicateError, strings.Contains(wantRejects, "RepeatedKey"))
			require.Equal(t, onDuplicate == shard.DuplicateError, all.VertexCounts.Repeated == 0)

			r := rand.New(rand.NewPCG(3, 4))
			for round := range 6 {
				w := newWorld(t)
				fill(w)
				rejects := t.TempDir()
				runs := 1
				for ; ; runs++ {
					rep, err := run(w, func(s Sink) Sink { return &cut{Sink: s, sends: r.IntN(40), acks: r.IntN(40)} }, rejects)
					if err == nil {
						require.Equal(t, all.VertexCounts, rep.VertexCounts, "those of all runs")
						break
					}
					require.ErrorIs(t, err, errCut)
					require.Less(t, runs, 100)
				}
				require.Equal(t, want, w.state(), "round %d, %d runs", round, runs)
				require.Equal(t, wantRejects, readAll(t, rejects))
				_, err := run(w, uncut, rejects)
				require.NoError(t, err, "a load that has finished")
				require.Equal(t, want, w.state())
			}
		})
	}
}

// readAll returns the sorted lines of all files below a directory but hidden ones.
func readAll(t *testing.T, dir string) string {
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		for l := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
			out = append(out, rel+": "+l)
		}
		return err
	}))
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}

// A session that another run of the load has replaced applies nothing more.
func TestTakenOver(t *testing.T) {
	w := newWorld(t)
	open := Open{Stream: "s", Spaces: []Space{{Name: "P", Label: "P", Property: "id"}}}
	old, err := w.l.Begin(context.Background(), open)
	require.NoError(t, err)
	batch := func(seq uint64) []*Batch {
		keys := []graph.Value{graph.IntValue(int64(seq))}
		return []*Batch{{Seq: seq, Vertices: []VertexRows{{Labels: []string{"P"}, Keys: keys, Props: []PropertyColumn{{Name: "id", Values: keys}}}}}}
	}
	_, err = old.Apply(t.Context(), batch(1))
	require.NoError(t, err)
	second, err := w.l.Begin(context.Background(), open)
	require.NoError(t, err)
	require.Equal(t, uint64(1), second.Seq)
	_, err = old.Apply(t.Context(), batch(2))
	require.ErrorContains(t, err, "taken over")
	_, err = second.Apply(t.Context(), batch(2))
	require.NoError(t, err)
	old.Close()
	second.Close()
}
