package loader

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/text"
)

// A load that refused rows without a directory for them writes them when it is run again with one, whether it ended early or
// came to its end, and whether the parser or the server refused them. A further run finds nothing to do.
func TestRejectsOfEarlierRun(t *testing.T) {
	const m = `
version: 1
inputs:
  - {path: v.csv, vertices: [{label: V, id: id, properties: {id: {type: int}}}]}
  - {path: e.csv, edges: [{type: E, from: {column: a, idSpace: V}, to: {column: b, idSpace: V}}]}
`
	for name, c := range map[string]struct {
		v, e   string
		chunk  int
		budget Budget // of the first run
		early  bool
		want   int64
	}{
		"parser, early":          {v: "id\n1\nx\n2\n", e: "a,b\n1,2\n", early: true, want: 1},
		"parser, many batches":   {v: "id\n1\nx\n2\n3\ny\n4\n5\n", e: "a,b\n1,2\n3,4\n4,5\n", chunk: 4, early: true, want: 2},
		"parser, to the end":     {v: "id\n1\nx\n2\n", e: "a,b\n1,2\n", budget: Budget{Rows: 5}, want: 1},
		"server, early":          {v: "id\n1\n2\n", e: "a,b\n1,2\n1,9\n", early: true, want: 1},
		"server, many batches":   {v: "id\n1\n2\n3\n", e: "a,b\n1,2\n1,9\n2,3\n8,2\n3,1\n", chunk: 4, early: true, want: 2},
		"both, to the end":       {v: "id\n1\nx\n2\n", e: "a,b\n1,2\n1,9\n", budget: Budget{Share: 0.9}, want: 2},
		"both, in small batches": {v: "id\n1\nx\n2\n3\n", e: "a,b\n1,2\n1,9\n2,3\n", chunk: 4, budget: Budget{Share: 0.9}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.file("v.csv", c.v)
			w.file("e.csv", c.e)
			run := func(o Options) (*Report, error) {
				p, err := w.plan(m)
				require.NoError(t, err)
				p.chunk = c.chunk
				return p.Run(t.Context(), NewLocal(w.l), o)
			}
			_, err := run(Options{MaxRejects: c.budget})
			if c.early {
				require.ErrorAs(t, err, new(*TooManyRejectsError))
			} else {
				require.NoError(t, err)
			}
			dir, whole := t.TempDir(), t.TempDir()
			rep, err := run(Options{MaxRejects: Budget{Share: 0.9}, RejectsDir: dir})
			require.NoError(t, err)
			require.Equal(t, c.want, rep.Rejects)
			rep, err = run(Options{RejectsDir: dir})
			require.NoError(t, err)
			require.Zero(t, rep.Rejects)
			require.Zero(t, rep.Rows)

			got := w.state()
			w = newWorld(t)
			w.file("v.csv", c.v)
			w.file("e.csv", c.e)
			_, err = run(Options{MaxRejects: Budget{Share: 0.9}, RejectsDir: whole})
			require.NoError(t, err)
			require.Equal(t, w.state(), got)
			require.Equal(t, readAll(t, whole), readAll(t, dir))
			_, err = os.Stat(filepath.Join(dir, text.RejectsName))
			require.NoError(t, err)
		})
	}
}
