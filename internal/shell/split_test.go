package shell

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// Semicolons in strings, quoted names and comments end nothing.
func TestSplitStatements(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
		rest string
	}{
		{"", nil, ""},
		{"RETURN 1", nil, "RETURN 1"},
		{"RETURN 1; RETURN 2 ;", []string{"RETURN 1", "RETURN 2"}, ""},
		{"RETURN 1; RETURN\n2 ", []string{"RETURN 1"}, "RETURN\n2 "},
		{`RETURN ';', "a\";b", 'it\';';`, []string{`RETURN ';', "a\";b", 'it\';'`}, ""},
		{"RETURN 1 AS `a;b``;c`;", []string{"RETURN 1 AS `a;b``;c`"}, ""},
		{"RETURN 1 // ; no\n+ 1; // end;", []string{"RETURN 1 // ; no\n+ 1"}, ""},
		{"RETURN /* ; */ 1;;  ;", []string{"RETURN /* ; */ 1"}, ""},
		{"RETURN '//'; RETURN 4 / 2;", []string{"RETURN '//'", "RETURN 4 / 2"}, ""},
		{"RETURN 'a;  \n", nil, "RETURN 'a;  \n"},
		{"/* a; b", nil, "/* a; b"},
		{"/*/", nil, "/*/"},
		{"/*/ ; */ RETURN 1;", []string{"RETURN 1"}, ""},
		{"// only\n;", nil, ""},
		{"\ufeffRETURN '東'; \u00a0RETURN\r\n2;\r\n", []string{"RETURN '東'", "RETURN\r\n2"}, ""},
	} {
		steps, rest := Split(c.text)
		var got []string
		for _, s := range steps {
			require.False(t, s.Command, c.text)
			got = append(got, s.Text)
		}
		require.Equal(t, c.want, got, c.text)
		require.Equal(t, c.rest, rest.Text, c.text)
	}
}

// Commands end at the end of the line, stand only between statements, and have the same names in lines and in files.
func TestSplitCommands(t *testing.T) {
	steps, rest := Split(":param x => \"a;b\"; RETURN $x;\n:help // all\nRETURN\n:notacommand;\n  Quit ;\nhelp\nexit + 1")
	require.Equal(t, []Step{
		{":param x => \"a;b\"", true, graph.Pos{Line: 1, Column: 1}},
		{"RETURN $x", false, graph.Pos{Line: 1, Column: 20, Offset: 19}},
		{":help // all", true, graph.Pos{Line: 2, Column: 1, Offset: 30}},
		{"RETURN\n:notacommand", false, graph.Pos{Line: 3, Column: 1, Offset: 43}},
		{":exit", true, graph.Pos{Line: 5, Column: 3, Offset: 66}},
		{":help", true, graph.Pos{Line: 6, Column: 1, Offset: 73}},
	}, steps)
	require.Equal(t, Step{Text: "exit + 1", At: graph.Pos{Line: 7, Column: 1, Offset: 78}}, rest)
}

// What is read in pieces has the steps and positions of the whole.
func TestSteps(t *testing.T) {
	for _, text := range []string{
		"", "\n\n", "RETURN 1", ":auto RETURN 1;\n:automatic\n:auto\tRETURN 2", "é;\n/* ; \n\n */ RETURN\n1; exit",
		strings.Repeat("RETURN 'a;\n';\n:help\n", 9000) + "RETURN 'é" + strings.Repeat("long;\n", 90000) + "'; RETURN 2;\n// end",
	} {
		want, rest := Split(text)
		if rest.Text != "" {
			want = append(want, rest)
		}
		var got []Step
		for s, err := range Steps(iotest.OneByteReader(strings.NewReader(text))) {
			require.NoError(t, err)
			got = append(got, s)
		}
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
	}
	var last error
	for _, last = range Steps(iotest.TimeoutReader(strings.NewReader(strings.Repeat("RETURN 1;\n", 9000)))) {
	}
	require.ErrorIs(t, last, iotest.ErrTimeout)
}

// A statement that parses ends where it is split, whatever surrounds it.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"RETURN 1; :help\nx", "a'b;'\"c\\\";\"`d;`;//e;\n/*f;*/g;h", ":param x => \";\";", "/*", "'", "\xff;:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		steps, rest := Split(text)
		last := 0
		for _, s := range append(steps, rest) {
			if s.Text == "" {
				continue
			}
			require.GreaterOrEqual(t, s.At.Offset, last)
			last = s.At.Offset
			tail := string([]rune(text)[s.At.Offset:])
			if s.Text != exit {
				require.True(t, strings.HasPrefix(tail, string([]rune(s.Text))), "%q at %d", s.Text, s.At.Offset)
			}
		}
		again, none := Split(rest.Text)
		require.Empty(t, again)
		require.Equal(t, rest.Text, none.Text)
	})
}
