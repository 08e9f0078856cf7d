package exec_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/resource"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
	"github.com/hopgate/hopgate/internal/query/plan"
)

func TestLoadCSV(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(filepath.Dir(dir), "secret.csv")
	require.NoError(t, os.WriteFile(secret, []byte("x\n"), 0o600))
	defer os.Remove(secret)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.csv"), []byte("id;name\n1;Jan\n2;\"a;b\"\n3;\n"), 0o600))

	load := func(url, dir string, headers bool, size int) ([]string, error) {
		q := &plan.Query{}
		u, r := q.NewCol("u", graph.Null), q.NewCol("r", graph.Null)
		q.Root = &plan.LoadCSV{
			Input: &plan.Unwind{Input: &plan.Unit{}, Out: u, List: &plan.Const{Value: graph.ListValue([]graph.Value{
				graph.StringValue(url), graph.StringValue(url),
			})}},
			URL: &plan.ColRef{Col: u}, Headers: headers, Delimiter: ";", Out: r,
		}
		q.Out, q.Names = []plan.Col{r}, []string{"r"}
		res, err := exectest.Run(context.Background(), oracle.NewGraph(1), q, exec.Options{BatchSize: size}, exec.Env{Open: resource.NewOpener(dir, resource.List{}).Open})
		if err != nil {
			return nil, err
		}
		var rows []string
		for _, row := range res.Rows {
			rows = append(rows, exectest.ShowRow(row))
		}
		return rows, nil
	}
	for _, size := range []int{1, 2, 1024} {
		rows, err := load("file:///a.csv", dir, true, size)
		require.NoError(t, err)
		once := []string{"{id: '1', name: 'Jan'}", "{id: '2', name: 'a;b'}", "{id: '3', name: null}"}
		require.Equal(t, append(once, once...), rows)
		rows, err = load("a.csv", dir, false, size)
		require.NoError(t, err)
		require.Len(t, rows, 8)
		require.Equal(t, "['id', 'name']", rows[0])
	}
	// A byte order mark is not a part of the first field, and lines may end with carriage returns.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mark.csv"), []byte("\ufeffid;name\n1;Jan\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cr.csv"), []byte("\ufeff\"id\";name\r1;Jan\r"), 0o600))
	for _, name := range []string{"mark.csv", "cr.csv"} {
		rows, err := load(name, dir, true, 1024)
		require.NoError(t, err)
		require.Equal(t, "{id: '1', name: 'Jan'}", rows[0])
		rows, err = load(name, dir, false, 1024)
		require.NoError(t, err)
		require.Equal(t, "['id', 'name']", rows[0])
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.csv"), 0o600))
	for url, dir := range map[string]string{
		"pipe.csv": dir, "a.csv": "", "file:///none.csv": dir, "http://localhost/a.csv": dir, "../secret.csv": dir, "file:///../secret.csv": dir,
	} {
		_, err := load(url, dir, true, 1024)
		require.Equal(t, graph.KindInvalid, graph.AsError(err).Kind, url)
	}
}
