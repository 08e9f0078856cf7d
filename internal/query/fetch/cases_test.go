package fetch_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// fetchCase is a request with the answer of the protocol's own implementation.
type fetchCase struct {
	ID, Method, Kind, Compare string
	Request                   json.RawMessage
	Code                      any
	Expected                  any
}

// TestSharedCases replays the shared cases, which lie beside the repository.
func TestSharedCases(t *testing.T) { sharedCases(t, newWorld(t, 1)) }

// TestSharedCasesStored replays them over the real store.
func TestSharedCasesStored(t *testing.T) {
	store := must[*local.Store](t)(local.Open(local.Options{Dir: "data", FS: vfs.NewMem()}))
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	w := newWorld(t, 1)
	w.g = must[shard.Graph](t)(store.Graph(local.DefaultGraph))
	sharedCases(t, w)
}

func sharedCases(t *testing.T, w *world) {
	w.loadShared()
	f, err := os.Open(shared + "/cases.jsonl")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	passed, total := 0, 0
	for s.Scan() {
		var c fetchCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		total++
		w.t = t
		answer := w.fetch(c.Method, string(c.Request))
		var got map[string]any
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Errorf("%s: %v\n%s", c.ID, err, answer)
			continue
		}
		if c.good(got) {
			passed++
			continue
		}
		want, _ := json.Marshal(c.Expected)
		if c.Kind == "error" {
			want, _ = json.Marshal(c.Code)
		}
		t.Errorf("%s: %s\nwant %s\ngot  %s", c.ID, c.Request, want, answer)
	}
	t.Logf("%d of %d cases passed", passed, total)
}

func (c *fetchCase) good(got map[string]any) bool {
	if c.Kind != "error" {
		return got["code"] == 200.0 && same(clean(got, true), clean(c.Expected, true), c.Compare != "exact")
	}
	codes, ok := c.Code.([]any)
	if !ok {
		codes = []any{c.Code}
	}
	for _, code := range codes {
		if got["ok"] == false && got["code"] == code {
			return true
		}
	}
	return false
}

var envelope = map[string]bool{"ok": true, "code": true, "msg": true, "time": true, "tag": true, "version": true, "format": true}

// clean drops the envelope at the top, and nulls and @explain anywhere.
func clean(x any, top bool) any {
	switch x := x.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, v := range x {
			if v != nil && k != "@explain" && !(top && envelope[k]) {
				m[k] = clean(v, false)
			}
		}
		return m
	case []any:
		l := make([]any, len(x))
		for i, v := range x {
			l[i] = clean(v, false)
		}
		return l
	}
	return x
}

func same(a, b any, bag bool) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !same(v, w, bag) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		rest := append([]any(nil), y...)
		for i, v := range x {
			if !bag {
				if !same(v, y[i], bag) {
					return false
				}
				continue
			}
			found := false
			for j, w := range rest {
				if same(v, w, bag) {
					rest = append(rest[:j], rest[j+1:]...)
					found = true
					break
				}
			}
			if !found {
				return false
			}
		}
		return true
	}
	if x, y, ok := numbers(a, b); ok {
		return math.Abs(x-y) <= 1e-9*math.Max(1, math.Abs(x))
	}
	return a == b
}

// numbers reads both values as numbers. One of them may be a string.
func numbers(a, b any) (x, y float64, ok bool) {
	x, aNum := a.(float64)
	y, bNum := b.(float64)
	if s, is := a.(string); is && bNum {
		f, err := strconv.ParseFloat(s, 64)
		x, aNum = f, err == nil
	}
	if s, is := b.(string); is && aNum {
		f, err := strconv.ParseFloat(s, 64)
		y, bNum = f, err == nil
	}
	return x, y, aNum && bNum
}
