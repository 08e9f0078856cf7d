package query

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/resource"
)

// A file larger than the memory of the statement is read row by row; one value that is too large for it is an error, also of a lenient call.
func TestLoadJSONMemory(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&lines, "{\"id\": %d, \"text\": \"some text of a row\"},\n", i)
	}
	rows := strings.TrimSuffix(lines.String(), ",\n")
	for name, text := range map[string]string{"array.json": "[" + rows + "]", "lines.json": strings.ReplaceAll(rows, ",\n", "\n"), "one.json": `{"rows": [` + rows + "]}"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	e := New(stores["oracle"](t), Options{QueryBytes: 12 << 20, Open: resource.NewOpener(dir, resource.List{}).Open})
	for _, name := range []string{"array.json", "lines.json"} {
		require.Equal(t, []string{"[100000, 99999]"}, must(t, e, "CALL apoc.load.json('"+name+"') YIELD value RETURN count(value), max(value.id)"))
	}
	_, err := e.rows(Request{Statement: "CALL apoc.load.json('one.json', '$.rows[*]', {failOnError: false}) YIELD value RETURN count(value)"})
	require.Equal(t, graph.KindBudget, graph.AsError(err).Kind, "%v", err)
	require.ErrorContains(t, err, "LoadJSON")
}
