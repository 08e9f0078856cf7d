package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
)

const feature = `Feature: Example
  Background:
    Given the tree graph

  @skip
  Scenario: [1] Rows
    And having executed:
      """
        CREATE (:A)
          -[:T]->()
      """
    And parameters are:
      | p | 'a\\b' |
    And there exists a procedure test.p(in :: INTEGER?) :: (out :: STRING?):
      | in | out |
      | 1  | 'x' |
    When executing query:
      """
      RETURN 1 AS a
      """
    Then the result should be, in order (ignoring element order for lists):
      | a   |
      | [1] |
    And the side effects should be:
      | +nodes | 2 |
    When executing control query:
      """
      RETURN 2
      """
    Then the result should be empty

  Scenario Outline: [1] Faults of <what>
    When executing query:
      """
      RETURN <what>
      """
    Then a SyntaxError should be raised at <when>: <detail>

    Examples:
      | what | when         | detail |
      | x    | compile time | A      |
    Examples:
      | what | when     | detail |
      | y    | any time | *      |
`

const converted = `{"id":"a/B.feature[1]","feature":"a/B.feature","scenario":"Rows","tags":["@skip"],` +
	`"given":{"graph":"tree","setup":["CREATE (:Root)","CREATE (:A)\n    -[:T]->()"]},"parameters":{"p":"'a\\b'"},` +
	`"procedures":[{"signature":"test.p(in :: INTEGER?) :: (out :: STRING?)","columns":["in","out"],"rows":[["1","'x'"]]}],"query":"RETURN 1 AS a",` +
	`"expect":{"columns":["a"],"rows":[["[1]"]],"order":"ordered","lists_unordered":true},"side_effects":{"+nodes":2},` +
	`"then_queries":[{"query":"RETURN 2","expect":{"empty":true}}]}
{"id":"a/B.feature[1b]#1","feature":"a/B.feature","scenario":"Faults of x","tags":[],"given":{"graph":"tree","setup":["CREATE (:Root)"]},` +
	`"parameters":{},"procedures":[],"query":"RETURN x","expect":{"error":{"type":"SyntaxError","phase":"compile","detail":"A"}},"side_effects":{},"then_queries":[]}
{"id":"a/B.feature[1b]#2","feature":"a/B.feature","scenario":"Faults of y","tags":[],"given":{"graph":"tree","setup":["CREATE (:Root)"]},` +
	`"parameters":{},"procedures":[],"query":"RETURN y","expect":{"error":{"type":"SyntaxError","phase":"any","detail":"*"}},"side_effects":{},"then_queries":[]}
`

// A repository is fetched at its commit and becomes cases; what is no step of the TCK is an error.
func TestFill(t *testing.T) {
	repo, dir := t.TempDir(), t.TempDir()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a"}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	commit := func(feature string) string {
		for name, text := range map[string]string{
			"tck/features/a/B.feature": feature, "tck/graphs/tree/tree.cypher": "CREATE (:Root);\n", "LICENSE": "A licence.", "other": "x",
		} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(repo, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600))
		}
		git("add", ".")
		git("commit", "-q", "-m", "a")
		return git("rev-parse", "HEAD")
	}
	git("init", "-q")
	git("config", "uploadpack.allowAnySHA1InWant", "true")
	s := sources()[0]
	s.url, s.commit = repo, commit(feature)
	latest := commit(strings.ReplaceAll(feature, "should be empty", "may be empty"))
	n, err := s.fill(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	text, err := os.ReadFile(filepath.Join(dir, "tck", "cases.jsonl"))
	require.NoError(t, err)
	require.Equal(t, converted, string(text))

	s.commit = latest
	_, err = s.fill(t.Context(), dir)
	require.ErrorContains(t, err, "a/B.feature[1]: the result may be empty: an unknown step")
	again, err := os.ReadFile(filepath.Join(dir, "tck", "cases.jsonl"))
	require.NoError(t, err)
	require.Equal(t, text, again)
}

// Where the suites lie both in the cache and in another place, both have the same cases by id, and the same data.
func TestConverterAgrees(t *testing.T) {
	cache, err := conformance.Cache()
	require.NoError(t, err)
	path := conformance.OpenCypher.Need(t)
	other := filepath.Dir(filepath.Dir(path))
	if other == cache {
		t.Skip("the suites lie in the cache alone")
	}
	compared := 0
	for name, key := range map[string]string{"tck/cases.jsonl": "id", "data/ldbc-queries.jsonl": "name", "data/lsqb-queries.jsonl": "name"} {
		file := filepath.Join(cache, name)
		if _, err := os.Stat(file); err != nil {
			t.Logf("%s: run make conformance", err)
			continue
		}
		ours := map[any]map[string]any{}
		for _, c := range conformance.Lines[map[string]any](t, file) {
			require.Nil(t, ours[c[key]], c[key])
			ours[c[key]] = c
		}
		for _, c := range conformance.Lines[map[string]any](t, filepath.Join(other, name)) {
			require.Equal(t, c, ours[c[key]])
			compared++
		}
	}
	t.Logf("%d cases are the same", compared)
	data, err := filepath.Glob(filepath.Join(cache, "data", "ldbc-sf0.003", "*", "*"))
	require.NoError(t, err)
	for _, file := range data {
		rel, err := filepath.Rel(cache, file)
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(other, rel))
		require.NoError(t, err)
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), rel)
	}
}

// The benchmark's statements and data become the files that its tests read.
func TestConvertLDBC(t *testing.T) {
	files := map[string][]byte{"cypher/test-data/vanilla/static/a.csv": []byte("1"), "cypher/test-data/update_streams/b.csv": []byte("2"), "cypher/test-data/converted/.gitignore": nil, "LICENSE.txt": nil}
	_, err := convertLDBC(files)
	require.ErrorContains(t, err, "no file cypher/queries/interactive-complex-1.cypher")
	for kind, n := range map[string]int{"complex": 14, "short": 7, "update": 8} {
		for i := 1; i <= n; i++ {
			files[fmt.Sprintf("cypher/queries/interactive-%s-%d.cypher", kind, i)] = []byte("RETURN a<b")
		}
	}
	out, err := convertLDBC(files)
	require.NoError(t, err)
	require.Equal(t, "1", string(out["data/ldbc-sf0.003/static/a.csv"]))
	require.Equal(t, "2", string(out["data/ldbc-sf0.003/update_streams/b.csv"]))
	require.Len(t, out, 4)
	lines := strings.Split(strings.TrimSpace(string(out["data/ldbc-queries.jsonl"])), "\n")
	require.Len(t, lines, 29)
	require.JSONEq(t, `{"name": "interactive-update-8", "statement": "RETURN a<b"}`, lines[28])
}
