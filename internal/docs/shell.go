package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// CommandLine is a call of a program in a document.
type CommandLine struct {
	Place string // the file
	Text  string
	Args  []string // without the program
}

// CommandLines returns the calls of a program in the blocks of the documents that hold commands.
func CommandLines(t testing.TB, program string) (lines []CommandLine) {
	files := []string{Path(t, "README.md"), Path(t, "CONTRIBUTING.md")}
	for _, pattern := range []string{"docs/*.md", "docs/howto/*.md"} {
		found, err := filepath.Glob(Path(t, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inside, shell := false, false
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
			if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
				inside = !inside
				shell = inside && (fence == "" || strings.HasPrefix(fence, "sh"))
				continue
			}
			if !shell {
				continue
			}
			for _, words := range commands(line) {
				if name := strings.TrimPrefix(words[0], "bin/"); name == program {
					lines = append(lines, CommandLine{filepath.Base(file), strings.TrimSpace(line), words[1:]})
				}
			}
		}
	}
	return lines
}

// commands splits a line of a shell into the words of its commands, without redirections, assignments and comments.
func commands(line string) (all [][]string) {
	var words []string
	var word strings.Builder
	quoted, redirect := rune(0), false
	started := false // the word, which may be empty
	flush := func() {
		if started && !redirect && (len(words) > 0 || !strings.Contains(word.String(), "=") && word.String() != "$") {
			words = append(words, word.String())
		}
		if started {
			redirect = false
		}
		word.Reset()
		started = false
	}
	command := func() {
		flush()
		if len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	for _, r := range line {
		switch {
		case quoted != 0:
			if r == quoted {
				quoted = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quoted, started = r, true
		case r == '#' && !started:
			command()
			return all
		case r == ' ' || r == '\t':
			flush()
		case r == '|' || r == ';' || r == '&' || r == '\n' || r == '(' || r == ')':
			command()
		case r == '>' || r == '<':
			flush()
			redirect = true
		default:
			word.WriteRune(r)
			started = true
		}
	}
	command()
	return all
}
