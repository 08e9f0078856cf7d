package fetch_test

import (
	"context"
	"io"
	"strconv"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// fixed is a Runner that returns the same batch repeatedly.
type fixed struct {
	*world
	batch graph.Batch
	rows  int
}

func (f *fixed) Run(_ context.Context, q *plan.Query, _ map[string]graph.Value, sink func(*graph.Batch) error) error {
	if f.rows == 0 {
		return nil
	}
	b := f.batch
	b.Cols = b.Cols[:len(q.Out)]
	for n := 0; n < f.rows; n += b.N {
		if err := sink(&b); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkRows writes rows of nine columns; a row is one operation.
func BenchmarkRows(b *testing.B) {
	f := &fixed{world: newWorld(b, 1)}
	f.load(small)
	f.batch.N = graph.BatchSize
	for c := range 9 {
		col := graph.Column{Vals: make([]graph.Value, f.batch.N)}
		for i := range col.Vals {
			col.Vals[i] = graph.IntValue(int64(1_500_000_000_000 + i*7919))
			if c > 2 {
				col.Vals[i] = graph.StringValue("some text of usual length " + strconv.Itoa(i))
			}
		}
		f.batch.Cols = append(f.batch.Cols, col)
	}
	req, err := syntax.Parse("get", []byte(`{"User[]": {"count": 0, "User": {"@column": "id,sex,name,tag,date,id:a,name:b,tag:c,date:d"}}}`), syntax.Limits{Rows: 1 << 40}, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	f.rows = b.N
	w := &counter{}
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := fetch.Run(context.Background(), req, f, f.cache, w); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(w.n / max(b.N, 1)))
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

// BenchmarkParse reads, shapes and finds the program of a usual request.
func BenchmarkParse(b *testing.B) {
	w := newWorld(b, 1)
	w.load(small)
	f := &fixed{world: w}
	body := []byte(`{"[]": {"count": 10, "page": 1, "Moment": {"userId{}": [1, 2, 3], "@column": "id,userId,content", "@order": "id-"},
		"User": {"id@": "/Moment/userId", "@column": "id,name"}, "Comment[]": {"count": 3, "Comment": {"momentId@": "[]/Moment/id", "@order": "id-"}}}}`)
	b.ReportAllocs()
	for b.Loop() {
		req, err := syntax.Parse("get", body, syntax.Limits{}, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := fetch.Run(context.Background(), req, f, w.cache, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
