package search

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// show prints a part of a query.
func show(n node) string {
	switch n := n.(type) {
	case *group:
		var parts []string
		for _, c := range n.clauses {
			parts = append(parts, map[occur]string{must1: "+", mustNot: "-"}[c.occur]+show(c.node))
		}
		return "(" + strings.Join(parts, " ") + ")"
	case *leaf:
		kind := map[leafKind]string{leafWords: "words", leafPhrase: "phrase", leafPrefix: "prefix", leafWildcard: "wildcard", leafRegexp: "regexp", leafFuzzy: "fuzzy", leafRange: "range", leafAll: "all"}[n.kind]
		s := kind
		if n.field != "" {
			s = n.field + ":" + s
		}
		switch n.kind {
		case leafAll:
		case leafRange:
			end := func(text string, none bool) string {
				if none {
					return "*"
				}
				return strconv.Quote(text)
			}
			s += map[bool]string{false: "[", true: "{"}[n.loOpen] + end(n.lo, n.noLo) + " " + end(n.hi, n.noHi) + map[bool]string{false: "]", true: "}"}[n.hiOpen]
		default:
			s += strconv.Quote(n.text)
		}
		switch {
		case n.slop > 0:
			s += "~" + strconv.Itoa(n.slop)
		case n.kind == leafFuzzy && n.similarity > 0:
			s += fmt.Sprintf("~%g", n.similarity)
		case n.kind == leafFuzzy:
			s += "~" + strconv.Itoa(n.edits)
		}
		if n.boost != 1 {
			s += fmt.Sprintf("^%g", n.boost)
		}
		return s
	}
	return "?"
}

// TestQueries parses the queries of testdata/queries, one a line, and prints their parts or the errors.
func TestQueries(t *testing.T) {
	datadriven.RunTest(t, "testdata/queries", func(_ *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			q, err := Parse(strings.TrimSuffix(line, "\n"))
			if err != nil {
				out.WriteString(graph.AsError(err).Detail + ": " + graph.AsError(err).Msg + "\n")
				continue
			}
			out.WriteString(show(q.root) + "\n")
		}
		return out.String()
	})
}

// TestSearches indexes the documents of testdata/searches, one a line as name, field=text|text, …, in as many parts as it says, and
// prints what queries find.
func TestSearches(t *testing.T) {
	var docs []Doc
	datadriven.RunTest(t, "testdata/searches", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "docs" {
			docs = nil
			for line := range strings.Lines(d.Input) {
				parts := strings.Split(strings.TrimSpace(line), "; ")
				doc := Doc{ID: ID(parts[0])}
				for _, p := range parts[1:] {
					name, texts, _ := strings.Cut(p, "=")
					doc.Fields = append(doc.Fields, Field{name, strings.Split(texts, "|")})
				}
				docs = append(docs, doc)
			}
			return ""
		}
		analyzer := graph.DefaultAnalyzer
		d.MaybeScanArgs(t, "analyzer", &analyzer)
		a, err := FindAnalyzer(analyzer)
		require.NoError(t, err)
		most := 0
		d.MaybeScanArgs(t, "most", &most)
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			text := strings.TrimSuffix(line, "\n")
			q, err := Parse(text)
			require.NoError(t, err)
			req := &Request{Query: q, Fields: []string{"title", "text"}, Analyzer: a, Most: most}
			one := find(t, a, req, docs)
			out.WriteString(text + " →")
			for _, h := range one {
				fmt.Fprintf(&out, " %s %.3f", h.ID, h.Score)
			}
			out.WriteString("\n")
			// Two parts answer as one, with documents in both of which one is left out.
			two := find(t, a, req, docs[:len(docs)/2], docs[len(docs)/2:])
			require.Len(t, two, len(one), text)
			for i := range one {
				require.Equal(t, one[i].ID, two[i].ID, text)
				require.InDelta(t, one[i].Score, two[i].Score, 1e-9, text)
			}
		}
		return out.String()
	})
}

func find(t *testing.T, a *Analyzer, req *Request, parts ...[]Doc) []Hit {
	var in []Part
	for _, docs := range parts {
		x, err := Open("", a)
		require.NoError(t, err)
		defer func() { require.NoError(t, x.Close()) }()
		require.NoError(t, x.Apply(&Batch{Docs: docs}))
		r, err := x.Reader()
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		in = append(in, Part{Reader: r})
	}
	hits, err := Search(context.Background(), in, req)
	require.NoError(t, err)
	return hits
}

// TestReopened finds documents, the mark and the statistics on disk again, leaves documents out, and deletes.
func TestReopened(t *testing.T) {
	a, err := FindAnalyzer("english")
	require.NoError(t, err)
	dir := t.TempDir()
	x, err := Open(dir, a)
	require.NoError(t, err)
	kept := make(chan error, 1)
	docs := []Doc{{ID("a"), []Field{{"text", []string{"hackers"}}}}, {ID("b"), []Field{{"text", []string{"a hacker"}}}}}
	require.NoError(t, x.Apply(&Batch{Docs: docs, Mark: []byte("m"), Persisted: func(err error) { kept <- err }}))
	require.NoError(t, <-kept)
	require.NoError(t, x.Close())
	x, err = Open(dir, a)
	require.NoError(t, err)
	q, err := Parse("hacking hacker")
	require.NoError(t, err)
	names := func(without ...ID) (names []string) {
		r, err := x.Reader()
		require.NoError(t, err)
		hits, err := Search(t.Context(), []Part{{r, without}}, &Request{Query: q, Fields: []string{"text"}, Analyzer: a})
		require.NoError(t, err)
		for _, h := range hits {
			names = append(names, string(h.ID))
		}
		require.Equal(t, "m", string(r.Mark()))
		require.NoError(t, r.Close())
		return names
	}
	require.Equal(t, []string{"a", "b"}, names())
	require.Equal(t, []string{"b"}, names(ID("a"), ID("c")))
	r, err := x.Reader()
	require.NoError(t, err)
	for i := range docs {
		require.True(t, r.Holds(&docs[i]))
	}
	other := docs[0]
	other.Fields = []Field{{"text", []string{"hacker"}}}
	require.False(t, r.Holds(&other))
	require.NoError(t, r.Close())
	require.NoError(t, x.Apply(&Batch{Delete: []ID{ID("a")}, Mark: []byte("m")}))
	require.Equal(t, []string{"b"}, names())
	require.NoError(t, x.Close())
}

// TestAnalyzers has all analyzers split a text.
func TestAnalyzers(t *testing.T) {
	for _, a := range Analyzers() {
		require.NotEmpty(t, a.terms("Neuromancer 42"), a.Name)
		require.NotEmpty(t, a.Description, a.Name)
	}
	_, err := FindAnalyzer("klingon")
	require.Equal(t, "UnknownAnalyzer", graph.AsError(err).Detail)
}

// FuzzQuery parses queries and runs those that are valid.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"a", `+"a b"~2 -c*`, "x:[a TO b}^3", "(a OR b) AND NOT c~1", `/a[b-c]/ \( *:*`, "a?c* \"\\\""} {
		f.Add(s)
	}
	a, err := FindAnalyzer(graph.DefaultAnalyzer)
	require.NoError(f, err)
	x, err := Open("", a)
	require.NoError(f, err)
	require.NoError(f, x.Apply(&Batch{Docs: []Doc{{ID("a"), []Field{{"text", []string{"a b c", "abc a"}}}}, {ID("b"), []Field{{"text", []string{"c b a"}}}}}}))
	r, err := x.Reader()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err != nil {
			if graph.AsError(err).Detail != "InvalidSearchQuery" {
				t.Fatal(err)
			}
			return
		}
		hits, err := Search(context.Background(), []Part{{Reader: r}}, &Request{Query: q, Fields: []string{"text"}, Analyzer: a})
		if err != nil && graph.AsError(err).Detail != "InvalidSearchQuery" {
			t.Fatal(err)
		}
		for i := 1; i < len(hits); i++ {
			if hits[i].Score > hits[i-1].Score {
				t.Fatal("scores rise", hits)
			}
		}
	})
}
