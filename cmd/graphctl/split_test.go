package main

import (
	"testing"

	"github.com/stretchr/testify/require"
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
		{"RETURN 1; RETURN\n2", []string{"RETURN 1"}, "RETURN\n2"},
		{`RETURN ';', "a\";b", 'it\';';`, []string{`RETURN ';', "a\";b", 'it\';'`}, ""},
		{"RETURN 1 AS `a;b``;c`;", []string{"RETURN 1 AS `a;b``;c`"}, ""},
		{"RETURN 1 // ; no\n+ 1; // end;", []string{"RETURN 1 // ; no\n+ 1"}, ""},
		{"RETURN /* ; */ 1;;  ;", []string{"RETURN /* ; */ 1"}, ""},
		{"RETURN '//'; RETURN 4 / 2;", []string{"RETURN '//'", "RETURN 4 / 2"}, ""},
		{"RETURN 'a;", nil, "RETURN 'a;"},
		{"/* a; b", nil, "/* a; b"},
		{"/*/ ; */ RETURN 1;", []string{"/*/ ; */ RETURN 1"}, ""},
		{"// only\n;", nil, ""},
	} {
		got, rest := splitStatements(c.text)
		require.Equal(t, c.want, got, c.text)
		require.Equal(t, c.rest, rest, c.text)
	}
}
