package exec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryNodeHasAnOperator compares the node types of package plan, which have a describe method, with the cases of compileNode.
func TestEveryNodeHasAnOperator(t *testing.T) {
	known := map[string]bool{}
	registry, err := parser.ParseFile(token.NewFileSet(), "registry.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(registry, func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok {
			for _, e := range c.List {
				known[e.(*ast.StarExpr).X.(*ast.SelectorExpr).Sel.Name] = true
			}
		}
		return true
	})
	known["Match"] = true // The optimizer replaces it.
	nodes := 0
	files, err := os.ReadDir("../plan")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), "../plan/"+f.Name(), nil, 0)
		require.NoError(t, err)
		for _, d := range src.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "describe" || fn.Recv == nil {
				continue
			}
			nodes++
			name := fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
			require.True(t, known[name], "plan.%s has no operator: compileNode in registry.go does not know it", name)
		}
	}
	require.Greater(t, nodes, 30)
}
