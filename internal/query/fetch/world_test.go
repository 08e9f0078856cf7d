package fetch_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/query/procedure"
	"github.com/hopgate/hopgate/internal/shard"
)

// procedures are those that a fetch calls.
var procedures = procedure.New(noFunctions{})

// noFunctions is a host of procedures without trusted operations.
type noFunctions struct{ procedure.Host }

func (noFunctions) CallOperation(_ context.Context, _ *exec.Call, name string, _ []graph.Value) (graph.Value, error) {
	return graph.Value{}, graph.RequestError(graph.KindInvalid, "NoSuchOperation", "there is no operation %s", name)
}

// world is a graph to fetch from.
type world struct {
	t     testing.TB
	g     shard.Graph
	cache *fetch.Cache
	mu    sync.Mutex
	plans map[*plan.Query]*exec.Prepared
	tx    shard.Tx
	// batch is the size of batches, 0 for the usual.
	batch  int
	dry    bool // writes are rolled back
	rules  *syntax.Rules
	caller syntax.Caller
}

func newWorld(t testing.TB, shards int) *world {
	return &world{t: t, g: oracle.NewGraph(shards), cache: fetch.NewCache(1000), plans: map[*plan.Query]*exec.Prepared{}}
}

// Catalog is part of fetch.Runner.
func (w *world) Catalog() graph.Catalog { return w.g }

// Run is part of fetch.Runner.
func (w *world) Run(ctx context.Context, q *plan.Query, params map[string]graph.Value, sink func(*graph.Batch) error) error {
	p, err := w.prepared(q)
	if err != nil {
		return err
	}
	rows, err := p.Run(ctx, w.g, w.tx, exec.Env{Params: params, Procs: procedures})
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		if err := sink(b); err != nil {
			return err
		}
	}
}

func (w *world) prepared(q *plan.Query) (*exec.Prepared, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.plans[q]; p != nil {
		return p, nil
	}
	optimize.Plan(q, optimize.Env{Counts: w.tx.Statistics(), Indexes: w.g.Indexes(), Features: w.g.Features()})
	p, err := exec.Compile(q, exec.Options{BatchSize: w.batch})
	if err != nil {
		return nil, err
	}
	w.plans[q] = p
	return p, nil
}

// Explain is part of fetch.Explainer.
func (w *world) Explain(_ context.Context, q *plan.Query) (string, error) { return plan.Format(q), nil }

// fetch answers a request.
func (w *world) fetch(method, body string) string {
	w.t.Helper()
	ctx := context.Background()
	mode := shard.Read
	if method == "post" || method == "put" || method == "delete" {
		mode = shard.Write
	}
	var err error
	if w.tx, err = w.g.Begin(ctx, mode); err != nil {
		w.t.Fatal(err)
	}
	defer w.tx.Rollback()
	var out bytes.Buffer
	req, err := syntax.Parse(method, []byte(body), syntax.Limits{}, nil, nil)
	if err == nil {
		req.Restrict(w.rules, w.caller)
		_, err = fetch.Run(ctx, req, w, w.cache, &out)
	}
	if err == nil && mode == shard.Write && !w.dry {
		err = w.tx.Commit(ctx)
	}
	if err != nil {
		return string(fetch.Failure([]byte(body), err, 0))
	}
	return out.String()
}

func (w *world) apply(ms ...shard.Mutation) {
	w.t.Helper()
	if err := w.tx.Apply(context.Background(), ms); err != nil {
		w.t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// valueOf converts decoded JSON to a value.
func valueOf(x any) graph.Value {
	switch x := x.(type) {
	case string:
		return graph.StringValue(x)
	case bool:
		return graph.BoolValue(x)
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return graph.IntValue(i)
		}
		f, _ := x.Float64()
		return graph.FloatValue(f)
	case []any:
		list := make([]graph.Value, len(x))
		for i, e := range x {
			list[i] = valueOf(e)
		}
		return graph.ListValue(list)
	}
	return graph.Value{}
}

// lines decodes a file of one JSON object a line.
func lines(t testing.TB, file string, each func(m map[string]any, keys []string)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<22)
	for s.Scan() {
		m, keys := decode(t, s.Text())
		each(m, keys)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
}

// decode reads an object with its keys in their order.
func decode(t testing.TB, line string) (m map[string]any, keys []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	k := json.NewDecoder(strings.NewReader(line))
	_, _ = k.Token()
	for k.More() {
		key, _ := k.Token()
		name, _ := key.(string)
		keys = append(keys, name)
		var skip json.RawMessage
		if err := k.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return m, keys
}

// loadTables loads APIJSON's demo tables and their edges from a folder.
func (w *world) loadTables(dir string) {
	t := w.t
	t.Helper()
	ctx := context.Background()
	ids := map[string]map[string]graph.VertexID{}
	tables := must[[]string](t)(filepath.Glob(dir + "/tables/*.jsonl"))
	w.tx = must[shard.Tx](t)(w.g.Begin(ctx, shard.Write))
	for _, file := range tables {
		label := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		ids[label] = map[string]graph.VertexID{}
		set := must[graph.LabelSet](t)(w.tx.LabelSet([]graph.LabelID{must[graph.LabelID](t)(w.tx.Label(label))}))
		lines(t, file, func(m map[string]any, keys []string) {
			mut := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: w.props(m, keys)}}
			w.apply(mut...)
			id, _ := m["id"].(json.Number)
			ids[label][id.String()] = mut[0].Vertex
		})
	}
	var ends map[string]struct{ Src, Dst string }
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(dir+"/edges/schema.json")), &ends); err != nil {
		t.Fatal(err)
	}
	for typ, e := range ends {
		id := must[graph.TypeID](t)(w.tx.Type(typ))
		lines(t, dir+"/edges/"+typ+".jsonl", func(m map[string]any, keys []string) {
			src, _ := m["src"].(json.Number)
			dst, _ := m["dst"].(json.Number)
			from, ok := ids[e.Src][src.String()]
			to, ok2 := ids[e.Dst][dst.String()]
			if !ok || !ok2 {
				return
			}
			w.apply(shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: from, Dst: to, Type: id}, Props: w.props(m, keys, "src", "dst")})
		})
	}
	if err := w.tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for _, file := range tables {
		label := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		ix := graph.Index{Name: label + "_id", Label: label, Props: []string{"id"}, Unique: true, Indexed: true}
		if err := w.g.CreateIndex(ctx, ix); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) props(m map[string]any, keys []string, but ...string) []graph.Property {
	var props []graph.Property
next:
	for _, k := range keys {
		for _, b := range but {
			if k == b {
				continue next
			}
		}
		if v := valueOf(m[k]); !v.IsNull() {
			props = append(props, graph.Property{ID: must[graph.PropID](w.t)(w.tx.Prop(k)), Value: v})
		}
	}
	return props
}
