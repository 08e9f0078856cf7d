package fetch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
