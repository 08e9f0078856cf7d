package fetch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzFetch runs any request: it must answer with JSON, and never with a fault of the server.
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
		for _, c := range strings.Split(string(text), "\n\n") {
			request, _, _ := strings.Cut(c, "\n----")
			for strings.HasPrefix(request, "#") {
				_, request, _ = strings.Cut(request, "\n")
			}
			if method, body, ok := strings.Cut(request, "\n"); ok && (method == "get" || method == "head") {
				f.Add(method == "head", body)
			}
		}
	}
	w := newWorld(f, 2)
	w.load(small)
	f.Fuzz(func(t *testing.T, head bool, body string) {
		w.t = t
		method := "get"
		if head {
			method = "head"
		}
		answer := w.fetch(method, body)
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
