package keys_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// registered returns the constants of type Space by their byte, in the notation of docs/format.md.
func registered(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "space.go", nil, 0)
	require.NoError(t, err)
	spaces := map[string]string{}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, s := range group.Specs {
			c := s.(*ast.ValueSpec)
			if typ, ok := c.Type.(*ast.Ident); !ok || typ.Name != "Space" {
				continue
			}
			require.Len(t, c.Values, 1, "%s needs a value of its own", c.Names[0])
			text := c.Values[0].(*ast.BasicLit).Value
			_, err := strconv.ParseUint(text, 0, 8)
			require.NoError(t, err, c.Names[0].Name)
			digits := strings.TrimPrefix(text, "0x")
			require.Empty(t, spaces[digits], "%s has the byte of another keyspace", c.Names[0])
			spaces[digits] = c.Names[0].Name
		}
	}
	return spaces
}

// documented returns the keyspaces in the table of docs/format.md by their byte. A row without a name adds a form of key to the
// keyspace above it.
func documented(t *testing.T) map[string]string {
	text, err := os.ReadFile("../../../docs/format.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "| byte (hex) | keyspace | key | value |\n|---|---|---|---|\n")
	require.True(t, ok, "docs/format.md has no table of keyspaces")
	spaces, last := map[string]string{}, ""
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		require.Len(t, cells, 4, line)
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		require.NotEmpty(t, cells[2], "no key in %s", line)
		require.NotEmpty(t, cells[3], "no value in %s", line)
		if cells[1] == "" {
			require.Equal(t, last, cells[0], "a further form of key must follow its keyspace")
			continue
		}
		require.Less(t, last, cells[0], "the rows must be in the order of the bytes")
		last = cells[0]
		spaces[last] = cells[1]
	}
	return spaces
}

// The table of keyspaces in docs/format.md has a row for each constant of type Space, and no others.
func TestFormatTable(t *testing.T) {
	code, docs := registered(t), documented(t)
	require.NotEmpty(t, code)
	for _, b := range slices.Sorted(maps.Keys(code)) {
		require.Contains(t, docs, b, "docs/format.md lacks the keyspace %s", code[b])
	}
	for _, b := range slices.Sorted(maps.Keys(docs)) {
		require.Contains(t, code, b, "docs/format.md describes the keyspace %s, which does not exist", docs[b])
	}
}
