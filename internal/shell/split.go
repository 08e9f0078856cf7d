package shell

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
)

// Step is a statement or a command of the shell, such as :help.
type Step struct {
	Text    string // without the semicolon and leading comments
	Command bool
	At      graph.Pos // position of its first character in the whole text
}

// Split splits text into steps. A statement ends at a semicolon outside of strings, quoted names and comments. A command starts with a
// colon where a statement could start (or is a line with only exit or quit), and ends at a semicolon or the end of the line. rest is an
// unterminated statement after the last step; its Text is empty if there is none.
func Split(text string) (steps []Step, rest Step) {
	if steps, rest = split(text, graph.Pos{Line: 1, Column: 1}); rest.Text == "" {
		rest = Step{}
	}
	return steps, rest
}

// split is Split for text at a position; the position of rest is that of its first character, or of the end of the text.
func split(text string, from graph.Pos) (steps []Step, rest Step) {
	at := cursor{text: text, pos: from}
	start := -1 // start of the step, or -1 before its first character
	for i := 0; i < len(text); {
		next := skipToken(text, i)
		switch {
		case start >= 0:
			if text[i] == ';' {
				steps = append(steps, Step{Text: strings.TrimSpace(text[start:i]), At: at.move(start)})
				start = -1
			}
		case text[i] == ';' || isBlank(text[i:next]):
		case isAuto(text[i:]):
			next = i + len(auto)
		default:
			if end := commandEnd(text[i:]); end > 0 {
				steps = append(steps, Step{Text: commandText(text[i : i+end]), Command: true, At: at.move(i)})
				next = i + end
			} else {
				start = i
			}
		}
		i = next
	}
	if start < 0 {
		start = len(text)
	}
	return steps, Step{Text: text[start:], At: at.move(start)}
}

// stepsBytes is about how much text Steps reads at once.
const stepsBytes = 1 << 16

// Steps splits what a reader reads, and holds no more of it than about the longest statement. The last statement needs no semicolon.
func Steps(r io.Reader) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		in := bufio.NewReader(r)
		rest := Step{At: graph.Pos{Line: 1, Column: 1}}
		for end := false; !end; {
			more, err := lines(in, max(stepsBytes, len(rest.Text)))
			if end = errors.Is(err, io.EOF); err != nil && !end {
				yield(Step{}, err)
				return
			}
			var steps []Step
			if steps, rest = split(rest.Text+more, rest.At); end && rest.Text != "" {
				steps = append(steps, rest)
			}
			for _, s := range steps {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// lines reads whole lines of at least size bytes together.
func lines(in *bufio.Reader, size int) (string, error) {
	var b strings.Builder
	for b.Len() < size {
		line, err := in.ReadString('\n')
		if b.WriteString(line); err != nil {
			return b.String(), err
		}
	}
	return b.String(), nil
}

// auto precedes statements in scripts of Neo4j's tools that are to run outside of a transaction, which all do here unless :begin opens one.
const auto = ":auto"

// isAuto reports whether text begins with auto.
func isAuto(text string) bool {
	return len(text) > len(auto) && strings.EqualFold(text[:len(auto)], auto) && unicode.IsSpace(rune(text[len(auto)]))
}

// cursor converts ascending offsets to lines and columns.
type cursor struct {
	text string
	at   int
	pos  graph.Pos
}

func (c *cursor) move(to int) graph.Pos {
	for _, r := range c.text[c.at:to] {
		c.pos.Offset++
		if c.pos.Column++; r == '\n' {
			c.pos.Line, c.pos.Column = c.pos.Line+1, 1
		}
	}
	c.at = to
	return c.pos
}

// isBlank reports whether a token is space, a byte order mark or a closed comment.
func isBlank(token string) bool {
	switch {
	case strings.HasPrefix(token, "//"):
		return true
	case strings.HasPrefix(token, "/*"):
		return len(token) >= 4 && strings.HasSuffix(token, "*/")
	}
	r, _ := utf8.DecodeRuneInString(token)
	return unicode.IsSpace(r) || r == '\ufeff'
}

// commandEnd returns the end of a command at the start of s, or 0 if a statement starts there.
func commandEnd(s string) int {
	line, _, _ := strings.Cut(s, "\n")
	if line[0] != ':' {
		if text := commandText(line); text == exit || text == help {
			return len(line)
		}
		return 0
	}
	for i := 0; i < len(line); {
		if line[i] == ';' {
			return i
		}
		if line[i] == '"' || line[i] == '\'' {
			i = skipToken(line, i)
		} else {
			i++
		}
	}
	return len(line)
}

const exit, help = ":exit", ":help"

// commandText normalises a command: without surrounding text, :exit for its aliases, and :help for help.
func commandText(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), "; \t")
	switch strings.ToLower(s) {
	case "exit", "quit", ":quit":
		return exit
	case "help":
		return help
	}
	return s
}

// skipToken returns the end of the string, quoted name, comment or character at i. An unclosed token extends to the end of the text.
func skipToken(text string, i int) int {
	switch c := text[i]; {
	case c == '\'' || c == '"':
		for j := i + 1; j < len(text); j++ {
			switch text[j] {
			case '\\':
				j++
			case c:
				return j + 1
			}
		}
		return len(text)
	case c == '`': // a doubled backtick ends one quoted name and begins the next, which splits the same
		return after(text, i+1, "`")
	case strings.HasPrefix(text[i:], "//"):
		return after(text, i, "\n")
	case strings.HasPrefix(text[i:], "/*"):
		return after(text, i+2, "*/")
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return i + size
}

// after returns the position after the first end at or after i, or the end of the text.
func after(text string, i int, end string) int {
	if n := strings.Index(text[i:], end); n >= 0 {
		return i + n + len(end)
	}
	return len(text)
}
