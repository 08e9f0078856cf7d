package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// end matches what ends a statement of a block: a semicolon at the end of a line, with a comment after it or not.
var end = regexp.MustCompile(`;[ \t]*(//.*)?(\n|$)`)

// file matches the name of a file in a fence.
var file = regexp.MustCompile(`^[\w-]+\.\w+$`)

// hidden begins a comment with a statement.
const hidden = "<!-- run: "

// TestPages runs the cypher blocks of the documents, those of a page one after the other over one graph, which is empty at first. A block text
// after one is the answer to its last statement, text error an error, and one whose fence names a file, such as csv people.csv, is a file that LOAD CSV may read. A JSON object in the fence of a
// block holds its parameters; one that cannot run here has the fence cypher not-run. A comment <!-- run: STATEMENT --> runs what readers
// need not see.
func TestPages(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"docs/*.md", "docs/howto/*.md"} {
		found, err := filepath.Glob(Path(t, pattern))
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	ran := 0
	for _, path := range pages {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !strings.Contains(string(text), "```cypher") {
			continue
		}
		name, err := filepath.Rel(Path(t, "."), path)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) { Compare(t, name, page(t, string(text), &ran)) })
	}
	require.Greater(t, ran, 20)
}

// page runs the blocks of a page and returns the page with their answers.
func page(t *testing.T, text string, ran *int) string {
	files := t.TempDir()
	e := newEngine(t, files)
	var out, body strings.Builder
	var fence, answer string // of the open block, and of the last statement if answered
	inside, answered := false, false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case !inside && strings.HasPrefix(trimmed, "```"):
			inside, fence = true, strings.TrimPrefix(trimmed, "```")
			body.Reset()
		case inside && trimmed == "```":
			inside = false
			switch kind, rest, _ := strings.Cut(fence, " "); {
			case kind == "text" && answered:
				if (rest == "error") != (failure(answer) != "") {
					t.Errorf("the fence of an answer says error if it is one: %s", answer)
				}
				out.WriteString(answer)
				answer, answered = "", false
			case file.MatchString(rest):
				require.NoError(t, os.WriteFile(filepath.Join(files, rest), []byte(body.String()), 0o600))
				out.WriteString(body.String())
			default:
				answer, answered = "", kind == "cypher" && rest != "not-run"
				if answered {
					answer = e.block(t, body.String(), rest)
					*ran++
				}
				out.WriteString(body.String())
			}
		case inside:
			body.WriteString(line)
			continue
		case strings.HasPrefix(trimmed, hidden):
			require.Empty(t, failure(e.answer(strings.TrimSuffix(strings.TrimPrefix(trimmed, hidden), "-->"))))
		case trimmed != "":
			if answer != "" && failure(answer) != "" {
				t.Errorf("a block fails, and the page does not show it: %s", answer)
			}
			answer, answered = "", false
		}
		out.WriteString(line)
	}
	require.False(t, inside, "a block has no end")
	require.Empty(t, failure(answer))
	return out.String()
}

// block runs the statements of a block with parameters and returns the answer to the last one.
func (e engine) block(t *testing.T, text, params string) (answer string) {
	values := map[string]graph.Value{}
	if params != "" {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(params), &object), params)
		for name, v := range object {
			values[name] = value(t, v)
		}
	}
	statements := end.Split(text, -1)
	for i, s := range statements {
		if strings.TrimSpace(s) == "" {
			continue
		}
		answer = e.explained(s, values)
		if i < len(statements)-1 && strings.TrimSpace(strings.Join(statements[i+1:], "")) != "" && failure(answer) != "" {
			t.Errorf("%s\n%s", s, answer)
		}
	}
	return answer
}

// value returns the value of a parameter in JSON.
func value(t *testing.T, v any) graph.Value {
	switch v := v.(type) {
	case nil:
		return graph.Value{}
	case bool:
		return graph.BoolValue(v)
	case string:
		return graph.StringValue(v)
	case float64:
		if v == float64(int64(v)) {
			return graph.IntValue(int64(v))
		}
		return graph.FloatValue(v)
	case []any:
		list := make([]graph.Value, len(v))
		for i := range v {
			list[i] = value(t, v[i])
		}
		return graph.ListValue(list)
	}
	t.Fatalf("a parameter is %T", v)
	return graph.Value{}
}

// TestComparison checks that the rows of figures in the comparison are rows of bench/README.md.
func TestComparison(t *testing.T) {
	text, err := os.ReadFile(Path(t, "docs/comparison.md"))
	require.NoError(t, err)
	figures, err := os.ReadFile(Path(t, "bench/README.md"))
	require.NoError(t, err)
	_, tables, _ := strings.Cut(string(text), "\n## Neo4j\n")
	rows := 0
	for line := range strings.Lines(tables) {
		if strings.HasPrefix(line, "| ") {
			require.Contains(t, string(figures), line)
			rows++
		}
	}
	require.Greater(t, rows, 12)
}

// TestShell checks that each block of commands that claims to run is in a page that .ci/readme runs.
func TestShell(t *testing.T) {
	script, err := os.ReadFile(Path(t, ".ci/readme"))
	require.NoError(t, err)
	pages := regexp.MustCompile(`docs/\{([\w,]+)\}\.md`).FindSubmatch(script)
	require.NotNil(t, pages)
	runs := map[string]bool{"tutorial.md": true}
	for name := range strings.SplitSeq(string(pages[1]), ",") {
		runs[name+".md"] = true
	}
	found, err := filepath.Glob(Path(t, "docs/*.md"))
	require.NoError(t, err)
	for _, file := range found {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "```sh\n") && !runs[filepath.Base(file)] {
			t.Errorf("%s has a block sh that .ci/readme does not run: add the page, or say sh not-run", filepath.Base(file))
		}
	}
}
