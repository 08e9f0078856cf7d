package fetch_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/shard"
)

// small is the graph of the scripts: a record a line, Label {json} or TYPE from to {json}, where ends are Label:id.
//
//go:embed testdata/small
var small string

// load builds the graph that a text describes.
func (w *world) load(text string) {
	w.t.Helper()
	ctx := context.Background()
	w.tx = must[shard.Tx](w.t)(w.g.Begin(ctx, shard.Write))
	ids := map[string]graph.VertexID{}
	labels := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		head, data, _ := strings.Cut(line, "{")
		parts := strings.Fields(head)
		m, keys := decode(w.t, "{"+data)
		if len(parts) == 1 {
			labels[parts[0]] = true
			set := must[graph.LabelSet](w.t)(w.tx.LabelSet([]graph.LabelID{must[graph.LabelID](w.t)(w.tx.Label(parts[0]))}))
			mut := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: w.props(m, keys)}}
			w.apply(mut...)
			id, _ := m["id"].(json.Number)
			ids[parts[0]+":"+id.String()] = mut[0].Vertex
			continue
		}
		e := graph.Edge{Src: ids[parts[1]], Dst: ids[parts[2]], Type: must[graph.TypeID](w.t)(w.tx.Type(parts[0]))}
		w.apply(shard.Mutation{Op: shard.CreateEdge, Edge: e, Props: w.props(m, keys)})
	}
	if err := w.tx.Commit(ctx); err != nil {
		w.t.Fatal(err)
	}
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		ix := graph.Index{Name: l + "_id", Label: l, Props: []string{"id"}, Unique: true, Indexed: true}
		if err := w.g.CreateIndex(ctx, ix); err != nil {
			w.t.Fatal(err)
		}
	}
	fulltext := func(name string, labels, props []string) {
		ix := graph.Index{
			Name: name, Label: labels[0], Props: props, Kind: graph.FullTextIndex, Indexed: true,
			Text: graph.TextOptions{More: labels[1:], Analyzer: graph.DefaultAnalyzer},
		}
		if err := w.g.CreateIndex(ctx, ix); err != nil {
			w.t.Fatal(err)
		}
	}
	fulltext("words", []string{"Comment", "Moment"}, []string{"content"})
	fulltext("names", []string{"User"}, []string{"name", "tag"})
}

var took = regexp.MustCompile(`"time":\d+`)

// TestScripts runs requests over the small graph; a command is a method with the request below it.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/fetch", func(t *testing.T, path string) {
		w := newWorld(t, 2)
		w.load(small)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.t = t
			body := d.Input
			if strings.HasPrefix(body, "hex:") {
				body = "\xff\xfe"
			}
			return pretty(took.ReplaceAllString(w.fetch(d.Cmd, body), `"time":0`))
		})
	})
}

// TestScriptsAgain runs the read requests twice over several shards with tiny batches: the second run takes the program from the
// cache and must return the same answer.
func TestScriptsAgain(t *testing.T) {
	datadriven.Walk(t, "testdata/fetch", func(t *testing.T, path string) {
		w := newWorld(t, 3)
		w.batch = 1
		w.load(small)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "get" && d.Cmd != "head" {
				return d.Expected
			}
			w.t = t
			a, b := w.fetch(d.Cmd, d.Input), w.fetch(d.Cmd, d.Input)
			if a, b := took.ReplaceAllString(a, ""), took.ReplaceAllString(b, ""); a != b {
				t.Errorf("%s: the second answer differs:\n%s\n%s", d.Pos, a, b)
			}
			return d.Expected
		})
	})
}

// pretty breaks an answer into lines.
func pretty(s string) string {
	if !json.Valid([]byte(s)) {
		return "NO JSON: " + s
	}
	if len(s) <= 120 {
		return s
	}
	var b bytes.Buffer
	_ = json.Indent(&b, []byte(s), "", " ")
	// Short objects and lists go back on one line.
	text := b.String()
	for again := true; again; {
		again = false
		text = short.ReplaceAllStringFunc(text, func(m string) string {
			one := spaces.ReplaceAllString(m, "")
			if len(one) > 100 {
				return m
			}
			again = true
			return strings.NewReplacer("{", "\x01", "}", "\x02", "[", "\x03", "]", "\x04").Replace(one)
		})
	}
	return strings.NewReplacer("\x01", "{", "\x02", "}", "\x03", "[", "\x04", "]").Replace(text)
}

var (
	short  = regexp.MustCompile(`(?s)\{[^{}\[\]]*\}|\[[^{}\[\]]*\]`)
	spaces = regexp.MustCompile(`\n *`)
)

// TestParse pins the errors of requests that fail before they reach a graph.
func TestParse(t *testing.T) {
	datadriven.RunTest(t, "testdata/parse", func(t *testing.T, d *datadriven.TestData) string {
		_, err := syntax.Parse(d.Cmd, []byte(d.Input), syntax.Limits{Depth: 4, Objects: 3, Arrays: 2, Page: 100, Hops: 4, Writes: 2}, nil, nil)
		if err == nil {
			return "ok"
		}
		e := syntax.AsError(err)
		return strings.TrimSpace(string(appendCode(nil, e.Code)) + " " + e.Error())
	})
}

func appendCode(dst []byte, code int) []byte { b, _ := json.Marshal(code); return append(dst, b...) }
