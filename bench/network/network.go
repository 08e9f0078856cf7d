// Package network provides the social network that benchmarks run on: as arrays, and loaded into a store on disk.
package network

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hopgate/hopgate/bench/csr"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/social"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// Network is one network in both forms. Person i of the arrays has the key i+1.
type Network struct {
	Persons  int
	Edges    int
	Knows    *csr.Graph
	Engine   *query.Engine
	Store    *local.Store
	LoadTime time.Duration // until the edges are durable
}

var (
	mu   sync.Mutex
	made = map[int]*Network{}
)

// Persons is the size of the network: HOPGATE_BENCH_PERSONS, by default 100,000.
func Persons(b testing.TB) int {
	b.Helper()
	text := os.Getenv("HOPGATE_BENCH_PERSONS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// Open creates the network of a size, once per process. It stays until the process ends.
func Open(b testing.TB, persons int) *Network {
	b.Helper()
	mu.Lock()
	defer mu.Unlock()
	if n := made[persons]; n != nil {
		return n
	}
	dir, err := os.MkdirTemp("", "hopgate-bench-*") //nolint:usetesting // it outlives the benchmark
	if err != nil {
		b.Fatal(err)
	}
	n, err := New(dir, persons)
	if err != nil {
		b.Fatal(err)
	}
	made[persons] = n
	return n
}

// Close removes what Open created; TestMain calls it.
func Close() {
	for _, n := range made {
		_ = n.Store.Close()
	}
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "hopgate-bench-*"))
	for _, d := range dirs {
		_ = os.RemoveAll(d)
	}
}

// New creates the network of a size in a directory, for a process that runs no benchmark. The caller closes the store.
func New(dir string, persons int) (*Network, error) {
	ctx := context.Background()
	files := filepath.Join(dir, "csv")
	if _, err := social.Write(ctx, files, social.Options{Persons: persons}); err != nil {
		return nil, err
	}
	store, err := local.Open(local.Options{Dir: filepath.Join(dir, "data"), CacheBytes: 1 << 30})
	if err != nil {
		return nil, err
	}
	n := &Network{Persons: persons, Store: store, Engine: query.New(restricted.NewStore(store), query.Options{})}
	session, err := loader.New(store).Begin(ctx, loader.Open{
		Spaces: []loader.Space{{Name: "Person", Label: "Person", Property: "id"}},
	})
	if err != nil {
		return nil, err
	}
	if err := n.loadPersons(ctx, session, filepath.Join(files, "person.csv")); err != nil {
		return nil, err
	}
	if err := n.loadKnows(ctx, session, filepath.Join(files, "person_knows_person.csv")); err != nil {
		return nil, err
	}
	g, err := store.Local(query.DefaultGraph)
	if err != nil {
		return nil, err
	}
	return n, g.Settle(ctx) // so that background compaction takes no processor from what is measured
}

// rows calls f with the cells of each row of a file without quotes.
func rows(path string, f func(cells [][]byte)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, data, _ = bytes.Cut(data, []byte{'\n'})
	var cells [][]byte
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		cells = cells[:0]
		for more := true; more; {
			var cell []byte
			cell, line, more = bytes.Cut(line, []byte{','})
			cells = append(cells, cell)
		}
		f(cells)
	}
	return nil
}

func number(cell []byte) int64 {
	n := int64(0)
	for _, c := range cell {
		n = n*10 + int64(c-'0')
	}
	return n
}

func (n *Network) loadPersons(ctx context.Context, s *loader.Session, path string) error {
	names := []string{"id", "firstName", "lastName", "gender", "birthday", "creationDate", "locationIP", "browserUsed"}
	v := loader.VertexRows{Labels: []string{"Person"}, Props: make([]loader.PropertyColumn, len(names))}
	err := rows(path, func(cells [][]byte) {
		for i, name := range names {
			v.Props[i].Name = name
			x := graph.StringValue(string(cells[i]))
			if i == 0 || i == 4 || i == 5 {
				x = graph.IntValue(number(cells[i]))
			}
			v.Props[i].Values = append(v.Props[i].Values, x)
		}
	})
	if err != nil {
		return err
	}
	v.Keys = v.Props[0].Values
	_, err = s.Apply(ctx, []*loader.Batch{{Seq: 1, Vertices: []loader.VertexRows{v}}})
	return err
}

func (n *Network) loadKnows(ctx context.Context, s *loader.Session, path string) error {
	var src, dst []uint32
	e := loader.EdgeRows{Type: "KNOWS", Props: []loader.PropertyColumn{{Name: "creationDate"}}}
	seq := uint64(1)
	flush := func() error {
		seq++
		start := time.Now()
		_, err := s.Apply(ctx, []*loader.Batch{{Seq: seq, Edges: []loader.EdgeRows{e}}})
		n.LoadTime += time.Since(start)
		e.Src, e.Dst, e.Props[0].Values = e.Src[:0], e.Dst[:0], e.Props[0].Values[:0]
		return err
	}
	var failed error
	err := rows(path, func(cells [][]byte) {
		a, b := number(cells[0]), number(cells[1])
		src, dst = append(src, uint32(a-1)), append(dst, uint32(b-1))
		e.Src, e.Dst = append(e.Src, graph.IntValue(a)), append(e.Dst, graph.IntValue(b))
		e.Props[0].Values = append(e.Props[0].Values, graph.IntValue(number(cells[2])))
		if len(e.Src) == 1<<20 && failed == nil {
			failed = flush()
		}
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		err = flush()
	}
	n.Edges, n.Knows = len(src), csr.New(n.Persons, src, dst)
	return err
}
