package fetch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

var fuzzed = []string{"get", "head", "post", "put", "delete"}

// FuzzFetch runs arbitrary requests: each answer must be JSON, and never an internal error.
func FuzzFetch(f *testing.F) {
	files, err := filepath.Glob("testdata/fetch/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "testdata/parse") {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for c := range strings.SplitSeq(string(text), "\n\n") {
			request, _, _ := strings.Cut(c, "\n----")
			for strings.HasPrefix(request, "#") {
				_, request, _ = strings.Cut(request, "\n")
			}
			method, body, _ := strings.Cut(request, "\n")
			for i, m := range fuzzed {
				if m == method {
					f.Add(i, body)
				}
			}
		}
	}
	w := newWorld(f, 2)
	w.load(small)
	w.dry = true
	f.Fuzz(func(t *testing.T, method int, body string) {
		w.t = t
		answer := w.fetch(fuzzed[uint(method)%uint(len(fuzzed))], body)
		var got struct {
			Code int
			Msg  string
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatalf("%v\n%s\n%s", err, body, answer)
		}
		if got.Code >= 500 || got.Code == 0 {
			t.Fatalf("%d %s\n%s", got.Code, got.Msg, body)
		}
	})
}

// FuzzRules reads arbitrary rules, and runs a request under those that are accepted.
func FuzzRules(f *testing.F) {
	for _, text := range []string{
		"", "labels: {User: {get: [LOGIN]}}", "labels: {User: {owner: id, get: [OWNER], columns: {sex: {read: [], write: [LOGIN]}}}}",
		"contacts: {label: User, property: friendIds}\nlabels: {User: {owner: id, get: [CIRCLE]}}\nedges: {KNOWS: {owner: from, post: [OWNER]}}",
		"labels: {User: {get: {}}}", "labels: {User: {1: [LOGIN]}}", "edges: {KNOWS: }", "issuer: [", "labels: {User: {<<: *a}}",
	} {
		f.Add(text)
	}
	w := newWorld(f, 1)
	w.load(small)
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := syntax.ParseRules([]byte(text))
		if err != nil {
			return
		}
		w.t, w.rules, w.caller = t, rules, syntax.Caller{Known: true, ID: graph.IntValue(1)}
		w.cache = fetch.NewCache(10)
		if a := w.fetch("get", `{"User": {"@role": "CIRCLE"}}`); !json.Valid([]byte(a)) || strings.Contains(a, `"code":500`) {
			t.Fatal(a)
		}
	})
}
