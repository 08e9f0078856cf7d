package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cli"
)

// Every command has examples, and their commands and flags exist.
func TestExamples(t *testing.T) {
	root := newRoot(&app{})
	seen := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		if path == "" || strings.HasPrefix(path, "completion") || path == "help" {
			return
		}
		require.NotEmpty(t, examples[path], path)
		seen++
		for _, line := range examples[path] {
			line, _, _ = strings.Cut(line, " > ")
			args := shellWords(line)[1:]
			clean := newRoot(&app{})
			cmd, rest, err := clean.Find(args)
			require.NoError(t, err, line)
			require.NoError(t, cmd.ParseFlags(rest), line)
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
			require.Contains(t, c.Example, line)
		}
	}
	walk(root)
	require.Len(t, examples, seen, "examples of no command")
}

// shellWords splits a line at its spaces outside of single quotes, which it takes off.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	return words
}

// Commands that are mistyped are refused with the one that was likely meant.
func TestSuggestions(t *testing.T) {
	for line, want := range map[string]string{
		"qery -p x=1":                 `graphctl: unknown command "qery" for "graphctl"; did you mean query?`,
		"bakcup":                      "did you mean backup?",
		"shel":                        "did you mean shell?",
		"generate socail --persons 5": `unknown command "socail" for "graphctl generate"; did you mean social?`,
		"completion bsh":              `unknown command "bsh" for "graphctl completion"; did you mean bash`,
		"generate":                    "name what to generate",
		"nothingofthekind":            `unknown command "nothingofthekind" for "graphctl"` + "\n",
	} {
		_, errs, code := ctl("127.0.0.1:1", "", strings.Fields(line)...)
		require.Contains(t, errs, want)
		require.Equal(t, cli.Usage, code, line)
		require.Equal(t, 1, strings.Count(errs, "\n"))
	}
}

// Values of flags complete, from their lists or from the server.
func TestCompletion(t *testing.T) {
	a, _ := serve(t)
	ctl(a.Address, "", "query", "CREATE (:Person)-[:KNOWS]->(:City)")
	for _, c := range []struct {
		line []string
		want []string
	}{
		{[]string{"query", "-o", ""}, []string{"table", "json", "ndjson", "csv", "arrow", "parquet", ":4"}},
		{[]string{"schema", "--output", ""}, []string{"table", "json", ":4"}},
		{[]string{"traverse", "--mode", "t"}, []string{"trail", ":4"}},
		{[]string{"traverse", "--direction", ""}, []string{"out", "in", "both", ":4"}},
		{[]string{"export", "x", "--format", ""}, []string{"csv", "jsonl", "parquet", "arrow", "json", "graphml", "cypher", ":4"}},
		{[]string{"load", "--id-type", ""}, []string{"string", "integer", ":4"}},
		{[]string{"--graph", ""}, []string{"default", ":4"}},
		{[]string{"query", "--graph", "d"}, []string{"default", ":4"}},
		{[]string{"path", "--edge", "HAS,K"}, []string{"HAS,KNOWS", ":4"}},
		{[]string{"traverse", "--from", "P"}, []string{"Person:", ":6"}},
		{[]string{"profile", "--sunburst", ""}, []string{"html", ":8"}},
		{[]string{"load", "--dir", ""}, []string{":16"}},
		{[]string{"backup", ""}, []string{":16"}},
		{[]string{"query", "--timeout", ""}, []string{":4"}},
		{[]string{"query", ""}, []string{":4"}},
		{[]string{"query", "--file", ""}, []string{":0"}},
		{[]string{"kill", ""}, []string{":4"}},
	} {
		out, _, code := ctl(a.Address, "", append([]string{"__complete"}, c.line...)...)
		require.Zero(t, code, c.line)
		got := strings.Split(strings.TrimSpace(out), "\n")
		if i := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, ":") }); i >= 0 {
			got = got[:i+1]
		}
		word := c.line[len(c.line)-1] // shells omit suggestions without that prefix
		got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, ":") && !strings.HasPrefix(s, word) })
		require.Equal(t, c.want, got, c.line)
	}
}
