package graphfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/mapping"
)

// FuzzLines reads any bytes as each format: what comes out is lines of JSON objects, and a scan finds the names of their properties.
func FuzzLines(f *testing.F) {
	files, err := filepath.Glob("../testdata/graphs/*")
	require.NoError(f, err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []mapping.Format{mapping.GraphML, mapping.GEXF, mapping.NodeLink, mapping.APOC} {
			names, scanErr := Scan(format, bytes.NewReader(data))
			known := map[string]bool{idColumn: true, labelColumn: true, fromColumn: true, toColumn: true, typeColumn: true}
			for _, n := range append(names.Vertex, names.Edge...) {
				known[n] = true
			}
			for _, edges := range []bool{false, true} {
				out, err := io.ReadAll(&lines{dec: NewDecoder(format, bytes.NewReader(data)), edges: edges})
				require.Equal(t, scanErr == nil, err == nil)
				if err != nil {
					continue
				}
				for line := range bytes.Lines(out) {
					d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true))
					require.NoError(t, members(d, func(name string, _ jsontext.Value) error {
						require.True(t, known[name], "%q", name)
						return nil
					}), "%q", line)
				}
			}
			_, err := mapping.Parse("f", names.Mapping(format, "f", "f", "f", ""))
			require.NoError(t, err)
		}
	})
}
