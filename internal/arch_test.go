// Package internal_test checks the source tree as a whole.
package internal_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/hopgate/hopgate/"

// layers lists every package from the lowest to the highest. A package
// imports only packages that stand on an earlier line.
const layers = `
internal/conformance
internal/conformance/tool
internal/alloctest
internal/docs
internal/size
internal/faultnet
internal/version
internal/flame
internal/graph/temporal
internal/graph
internal/definition
internal/rules
internal/graph/notation
internal/operation
internal/cost
internal/graph/spatial
internal/graph/vector
internal/memory
internal/access
internal/quota
internal/rpc
internal/search/segment
internal/search
internal/search/hnsw
internal/storage/keys
internal/changelog
internal/storage/cache
internal/storage/codec
internal/storage/kv
internal/storage/spill
internal/storage/stats
internal/storage/view
internal/storage/table
internal/storage/reclaim
internal/storage/compact
internal/storage/pack
internal/storage/staging
internal/storage
internal/storage/check
internal/replica
internal/shard
internal/named
internal/shard/restricted
internal/shard/local/fail
internal/shard/local/index
internal/shard/local/groups
internal/shard/local/turns
internal/shard/local/datadir
internal/shard/local/read
internal/shard/local/part
internal/shard/local/write
internal/shard/local/localtest
internal/shard/local/text
internal/shard/local/maintain
internal/shard/local/commitlog
internal/shard/local/bulk
internal/shard/local
internal/shard/past
internal/shard/remote/wire
internal/shard/remote/peers
internal/shard/remote/server
internal/shard/remote/gateway
internal/shard/remote/cluster
internal/shard/remote
internal/query/steps
internal/query/fingerprint
internal/query/plan
internal/query/plan/optimize
internal/query/fn
internal/query/fn/apoc
internal/query/cypher/symbols
internal/query/cypher/ast
internal/query/cypher/parse
internal/query/cypher/check
internal/bolt/packstream
internal/query/cypher
internal/query/fetch/syntax
internal/query/fetch/verify
internal/query/fetch/bind
internal/query/fetch
internal/query/traverse
internal/query/endless
internal/oracle
internal/oracle/naive
internal/shard/shardtest
internal/shard/arrowgraph
internal/query/exec/runtime/spill
internal/query/exec/runtime
internal/query/exec/expr
internal/query/exec/compile
internal/query/exec/exchange
internal/query/algo
internal/query/exec/adjacency
internal/query/exec/search
internal/query/exec/source
internal/query/exec/relational
internal/query/exec/write
internal/query/exec
internal/query/exec/exectest
internal/query/tck
internal/query/option
internal/query/admission
internal/query/lazy
internal/query/fresh
internal/query/fetchplan
internal/query/trusted
internal/query/notice
internal/query/schema
internal/query/explain
internal/query/watch
internal/query/charge
internal/query/token
internal/query/changes
internal/query/snapshot
internal/query/procedure
internal/query/asof
internal/query/page
internal/query
internal/bolt
internal/bucket
internal/shell
internal/loader/record
internal/loader/mapping
internal/loader/graphfile
internal/loader/text
internal/loader/resource
internal/loader/propose
internal/loader/social
internal/loader
internal/loader/graphdb
internal/telemetry
internal/console
internal/server/wire
internal/server/summary
internal/server/feed
internal/server/request
internal/server/admin
internal/server/arrowstream
internal/server/mcpapi
internal/server/httpapi
internal/server/grpcapi
internal/server/boltapi
internal/server
internal/config
internal/backup
internal/cli
internal/cli/client
internal/cli/changes/sink/sinktest
internal/cli/changes/sink
internal/cli/changes
internal/cli/diagnose
internal/cli/member
internal/answer
internal/bridge
internal/export
cmd/graphctl
cmd/hopgate
`

// onlyIn names the packages that alone may import the key or what lies under it; the longest key that fits counts.
var onlyIn = map[string]string{
	"github.com/cockroachdb/pebble/v2":               "internal/storage internal/replica internal/config bench/storage",
	"github.com/cockroachdb/pebble/v2/vfs":           "internal/storage internal/replica internal/shard/local bench/storage",
	"go.etcd.io/raft/v3":                             "internal/replica",
	"github.com/prometheus/client_golang/prometheus": "internal/telemetry internal/server internal/cli",
	module + "internal/storage":                      "internal/storage internal/changelog internal/shard/local internal/shard/past internal/shard/remote internal/telemetry internal/config cmd/hopgate bench/storage",
	module + "internal/storage/kv":                   "internal/storage internal/replica internal/shard/local internal/telemetry internal/config bench/storage",
	"github.com/cucumber":                            "internal/conformance/tool",
	"github.com/golang/geo":                          "internal/graph/spatial",
	"github.com/chromedp":                            "nothing but tests",
	"github.com/apache/arrow-go":                     "internal/server internal/loader/record internal/shard/arrowgraph internal/export cmd/graphctl",
	"github.com/neo4j":                               "internal/loader/graphdb",
	"github.com/twmb":                                "internal/cli/changes/sink",
	"github.com/nats-io":                             "internal/cli/changes/sink",
	"gocloud.dev":                                    "internal/bucket internal/backup internal/cli",
	module + "internal/rpc":                          "internal/shard/remote cmd/hopgate",
	module + "internal/shard/remote":                 "internal/shard/remote cmd/hopgate",
	module + "internal/query/exec":                   "internal cmd/hopgate bench",
	module + "internal/query/fn":                     "internal/query internal/loader",
	module + "internal/shard/local":                  "internal cmd/hopgate bench",
	module + "internal/oracle":                       "internal/shard/shardtest",
	module + "internal/faultnet":                     "nothing but tests",
	module + "internal/shard/shardtest":              "nothing but tests",
	module + "internal/shard/local/localtest":        "nothing but tests",
	module + "internal/shard/arrowgraph":             "nothing but tests",
	module + "internal/cli/changes/sink/sinktest":    "nothing but tests",
	module + "internal/conformance":                  "internal/conformance",
	module + "api/gen":                               "internal/server internal/shard/remote internal/cli internal/answer internal/bridge internal/export cmd",
}

// A reader can survey a package of at most mostLines lines besides tests, and a type of at most mostMethods methods. What is larger is
// in large, with the reason.
const (
	mostLines   = 6000
	mostMethods = 60
)

// large names the packages and types over the limits.
var large = map[string]string{
	"internal/query/cypher/ast.printer":   "one method for each node of the tree",
	"internal/query/cypher/check.checker": "one method for each clause and expression",
	"internal/query/cypher/parse.parser":  "one method for each production of the grammar",
}

func TestLayers(t *testing.T) {
	rank := map[string]int{}
	for i, p := range strings.Fields(layers) {
		rank[p] = i
	}
	documented := map[string]bool{}
	imports := map[string][]string{}
	lines, methods := map[string]int{}, map[string]int{}
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		pkg := path.Dir(file)
		if d.IsDir() && file != "." {
			if _, err := fs.Stat(root, file+"/go.mod"); err == nil {
				return fs.SkipDir // a module of its own
			}
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") ||
			!strings.HasPrefix(file, "internal/") && !strings.HasPrefix(file, "cmd/") {
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		own, ok := rank[pkg]
		if !ok {
			t.Errorf("%s: %s is not in the list of layers", file, pkg)
			return nil
		}
		lines[pkg] += bytes.Count(src, []byte("\n"))
		for _, d := range f.Decls {
			if t := receiver(d); t != "" {
				methods[pkg+"."+t]++
			}
		}
		documented[pkg] = documented[pkg] || f.Doc != nil
		for _, spec := range f.Imports {
			imp := strings.Trim(spec.Path.Value, `"`)
			if dep, ok := strings.CutPrefix(imp, module+"internal/"); ok {
				imports[pkg] = append(imports[pkg], "internal/"+dep)
				if rank["internal/"+dep] >= own {
					t.Errorf("%s imports internal/%s, which stands above %s", file, dep, pkg)
				}
			}
			if owners, ok := ownersOf(imp); ok && !within(pkg, owners) {
				t.Errorf("%s imports %s, which belongs to %s", file, imp, owners)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"internal/query/exec", "internal/storage", "internal/shard/local"} {
		if way := leads(imports, "cmd/graphctl", heavy, map[string]bool{}); way != nil {
			t.Errorf("the client must do without %s, and gets it by %s", heavy, strings.Join(way, ", "))
		}
	}
	for p := range rank {
		if !documented[p] {
			t.Errorf("%s: no such package, or it has no package comment", p)
		}
	}
	over := map[string]string{}
	for p, n := range lines {
		if n > mostLines {
			over[p] = fmt.Sprintf("%d lines besides tests, over %d", n, mostLines)
		}
	}
	for typ, n := range methods {
		if n > mostMethods {
			over[typ] = fmt.Sprintf("%d methods, over %d", n, mostMethods)
		}
	}
	for name, why := range over {
		if large[name] == "" {
			t.Errorf("%s has %s: split it by its jobs", name, why)
		}
	}
	for name := range large {
		if over[name] == "" {
			t.Errorf("%s is within the limits: take it out of large", name)
		}
	}
}

// TestFeaturesAreDeclared checks that nobody finds out by a type assertion what a store, a graph or a transaction can do.
func TestFeaturesAreDeclared(t *testing.T) {
	assertion := regexp.MustCompile(`\.\(\*?shard\.[A-Z]\w*\)`)
	root := os.DirFS("..")
	for _, dir := range []string{"cmd", "internal", "bench"} {
		err := fs.WalkDir(root, dir, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, file)
			if found := assertion.Find(text); found != nil {
				t.Errorf("%s has %s: use Features", file, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestConformanceHasOnePlace checks that internal/conformance alone knows where the cases lie that are not in the repository.
func TestConformanceHasOnePlace(t *testing.T) {
	elsewhere := regexp.MustCompile(`\bshared["']?[/,] *["']?(tck|apijson|data)\b|\.\./shared\b|"\.\.", *"shared"`)
	root, searched := os.DirFS(".."), 0
	for _, dir := range []string{"cmd", "internal", "bench", "api", "deploy", "docs", "examples", ".ci", "Makefile"} {
		err := fs.WalkDir(root, dir, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (file == "internal/conformance" || d.Name() == "node_modules" || d.Name() == ".venv"):
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			text, err := fs.ReadFile(root, file)
			if found := elsewhere.Find(text); found != nil && file != "internal/arch_test.go" {
				t.Errorf("%s has %s: ask internal/conformance", file, found)
			}
			searched++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if searched < 500 {
		t.Errorf("only %d files were searched", searched)
	}
}

// receiver returns the type that the declaration gives a method to, or "".
func receiver(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	name, _ := t.(*ast.Ident)
	return name.Name
}

// leads returns packages by whose imports one package depends on another, or nil.
func leads(imports map[string][]string, from, to string, seen map[string]bool) []string {
	for _, p := range imports[from] {
		if p == to {
			return []string{from, to}
		}
		if seen[p] {
			continue
		}
		seen[p] = true
		if way := leads(imports, p, to, seen); way != nil {
			return append([]string{from}, way...)
		}
	}
	return nil
}

// ownersOf gives the owners of an import that onlyIn names.
func ownersOf(imp string) (owners string, ok bool) {
	for under := imp; under != "."; under = path.Dir(under) {
		if owners, ok = onlyIn[under]; ok {
			return owners, true
		}
	}
	return "", false
}

func within(pkg, owners string) bool {
	for o := range strings.FieldsSeq(owners) {
		if pkg == o || strings.HasPrefix(pkg, o+"/") {
			return true
		}
	}
	return false
}
