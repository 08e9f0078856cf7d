package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
)

// both is a cluster and a server of one process, which must answer alike.
type both struct {
	t       *testing.T
	one     *server
	ss      []*process
	gs      []*process
	asked   int
	failure string // the answer to the last statement that failed
	token   string // of who asks the cluster, if it has tokens
	reset   func() // before the statements of a graph, if it is not enough to delete all that the caller sees
	hide    func() // after the statements of a graph
}

func newBoth(t *testing.T, more ...string) *both {
	ss, gs := startCluster(t, 3, 2, more...)
	return &both{t: t, one: start(t, filepath.Join(t.TempDir(), "data"), "--shards", "3"), ss: ss, gs: gs}
}

// run runs a statement at one server.
func (b *both) run(address, statement string, params map[string]any) (fields []string, rows []any, code string) {
	body, err := json.Marshal(map[string]any{"statement": statement, "parameters": params})
	require.NoError(b.t, err)
	_, text := b.post(address, "/v1/query", string(body))
	var answer struct {
		Data struct {
			Fields []string
			Values []any
		}
		Errors []struct{ Code, Type, Phase, Detail string }
	}
	require.NoError(b.t, json.Unmarshal([]byte(text), &answer), text)
	if len(answer.Errors) > 0 {
		b.failure = text
	}
	for _, e := range answer.Errors {
		return nil, nil, fmt.Sprint(e)
	}
	rows, _ = withoutIDs(answer.Data.Values).([]any)
	return answer.Data.Fields, rows, ""
}

func (b *both) post(address, path, body string) (int, string) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+address+path, strings.NewReader(body))
	require.NoError(b.t, err)
	req.Header.Set("Content-Type", "application/json")
	if b.token != "" && address != b.one.addrs.HTTP {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	defer res.Body.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(res.Body)
	require.NoError(b.t, err)
	return res.StatusCode, out.String()
}

// withoutIDs removes the ids from a decoded answer: they depend on the process that assigns them.
func withoutIDs(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutIDs(v[i])
		}
	case map[string]any:
		for key := range v {
			if strings.HasSuffix(strings.ToLower(key), "elementid") {
				delete(v, key)
			} else {
				v[key] = withoutIDs(v[key])
			}
		}
	}
	return v
}

// gateway returns one gateway and then the other.
func (b *both) gateway() string {
	b.asked++
	return b.gs[b.asked%len(b.gs)].http
}

// statement runs a statement at both; the rows are compared as a bag unless they are ordered.
func (b *both) statement(statement string, params map[string]any, listsUnordered bool) {
	wantFields, want, wantCode := b.run(b.one.addrs.HTTP, statement, params)
	fields, got, code := b.run(b.gateway(), statement, params)
	if listsUnordered {
		want, got = sortLists(want), sortLists(got)
	} else if last := strings.LastIndex(statement, "RETURN"); last < 0 || !strings.Contains(statement[last:], "ORDER BY") {
		slices.SortFunc(want, byText)
		slices.SortFunc(got, byText)
	}
	require.Equal(b.t, wantCode, code, "%s: %s", statement, b.failure)
	require.Equal(b.t, wantFields, fields, statement)
	require.Equal(b.t, want, got, statement)
}

// graph makes the graph of some statements that follow.
func (b *both) graph(statements ...written) {
	if b.reset != nil {
		b.reset()
	}
	b.statement("MATCH (n) DETACH DELETE n", nil, false)
	for _, s := range statements {
		b.statement(s.text, s.params, false)
	}
	if b.hide != nil {
		b.hide()
	}
}

func byText(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }

func sortLists(list []any) []any {
	for i := range list {
		if inner, ok := list[i].([]any); ok {
			list[i] = sortLists(inner)
		}
	}
	slices.SortFunc(list, byText)
	return list
}

// sampled is one in how many of the conformance cases a test runs that is not to be long.
const sampled = 25

// A cluster returns the answers of a single server to the openCypher cases of the tree, to the conformance cases (all of them
// if HOPGATE_SEEDS is set), and to the tree's fetches.
func TestClusterAnswers(t *testing.T) {
	b := newBoth(t)
	t.Run("statements", func(t *testing.T) {
		b.t = t
		b.scripts()
	})
	t.Run("conformance", func(t *testing.T) {
		b.t = t
		b.conformance("cluster")
	})
	t.Run("fetches", func(t *testing.T) {
		b.t = t
		b.fetches()
	})
}

// scripts runs the openCypher cases of the tree.
func (b *both) scripts() {
	datadriven.Walk(b.t, "../../internal/query/tck/testdata/extra", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			b.t = t
			if d.Cmd == "graph" {
				var all []written
				for statement := range strings.SplitSeq(d.Input, ";") {
					all = append(all, written{text: statement})
				}
				b.graph(all...)
			} else if !strings.Contains(d.Input, "IN TRANSACTIONS") || !strings.Contains(d.Input, "ON ERROR") {
				b.statement(d.Input, nil, false)
			}
			return d.Expected
		})
	})
}

// conformanceCase is one of openCypher's conformance cases.
type conformanceCase struct {
	ID         string
	Given      struct{ Setup []string }
	Parameters map[string]string
	Procedures []json.RawMessage
	Query      string
	Expect     struct {
		ListsUnordered bool `json:"lists_unordered"`
	}
	Then []struct{ Query string } `json:"then_queries"`
}

// parameters evaluates the parameters of a conformance case.
func (b *both) parameters(literals map[string]string) map[string]any {
	params := map[string]any{}
	for name, literal := range literals {
		_, rows, code := b.run(b.one.addrs.HTTP, "RETURN "+literal, nil)
		require.Empty(b.t, code)
		params[name] = rows[0].([]any)[0]
	}
	return params
}

// conformance runs the conformance cases. suite names them in the summary.
func (b *both) conformance(suite string) {
	ran := 0
	for n, c := range conformance.Cases[conformanceCase](b.t, conformance.OpenCypher) {
		if len(c.Procedures) > 0 || os.Getenv("HOPGATE_SEEDS") == "" && n%sampled != 0 {
			continue
		}
		ran++
		var setup []written
		for _, s := range c.Given.Setup {
			setup = append(setup, written{text: s})
		}
		b.graph(setup...)
		params := b.parameters(c.Parameters)
		b.statement(c.Query, params, c.Expect.ListsUnordered)
		for _, then := range c.Then {
			b.statement(then.Query, params, c.Expect.ListsUnordered)
		}
	}
	conformance.OpenCypher.Ran(b.t, suite, ran)
}

var fetchTime = regexp.MustCompile(`"time":\d+`)

// written is a statement that writes.
type written struct {
	text   string
	params map[string]any
}

// smallWorld returns the statements that create the graph of the tree's fetches, testdata/small.
func (b *both) smallWorld() (statements []written) {
	small, err := os.ReadFile("../../internal/query/fetch/testdata/small")
	require.NoError(b.t, err)
	for line := range strings.Lines(string(small)) {
		head, data, _ := strings.Cut(line, "{")
		var props map[string]any
		require.NoError(b.t, json.Unmarshal([]byte("{"+data), &props))
		text := ""
		if parts := strings.Fields(head); len(parts) == 1 {
			text = "CREATE (n:" + parts[0] + ") SET n = $props"
		} else {
			src, dst := strings.Split(parts[1], ":"), strings.Split(parts[2], ":")
			text = fmt.Sprintf("MATCH (a:%s {id: %s}), (b:%s {id: %s}) CREATE (a)-[r:%s]->(b) SET r = $props", src[0], src[1], dst[0], dst[1], parts[0])
		}
		statements = append(statements, written{text, map[string]any{"props": props}})
	}
	return statements
}

// fetches runs the tree's fetches.
func (b *both) fetches() {
	small := b.smallWorld()
	b.graph()
	caller := b.token
	b.token = rootToken
	for _, label := range []string{"User", "Moment", "Comment"} {
		b.statement("CREATE CONSTRAINT "+label+"_id FOR (n:"+label+") REQUIRE n.id IS UNIQUE", nil, false)
	}
	b.token = caller
	datadriven.Walk(b.t, "../../internal/query/fetch/testdata/fetch", func(t *testing.T, path string) {
		b.t = t
		b.graph(small...)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if b.hide != nil && strings.Contains(d.Input, `"@explain"`) { // plans under rules make no use of statistics
				return d.Expected
			}
			status, want := b.post(b.one.addrs.HTTP, "/"+d.Cmd, d.Input)
			gotStatus, got := b.post(b.gateway(), "/"+d.Cmd, d.Input)
			require.Equal(t, status, gotStatus, d.Input)
			require.Equal(t, fetchTime.ReplaceAllString(want, ""), fetchTime.ReplaceAllString(got, ""), d.Input)
			return d.Expected
		})
	})
}
