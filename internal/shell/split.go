package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
)

// Step is a statement or a command of the shell, such as :help.
type Step struct {
	Text    string // without the semicolon, and without the comments before it
	Command bool
	At      graph.Pos // of its first character in the text that was split
}

// Split splits a text into steps. A statement ends at a semicolon outside of strings, quoted names and comments; a command
// begins with a colon in the place of a statement, or is exit or quit alone in a line, and ends at a semicolon or with its
// line. rest is the statement that begins after the last step and lacks its semicolon; its Text is empty if there is none.
func Split(text string) (steps []Step, rest Step) {
	at := cursor{text: text, pos: graph.Pos{Line: 1, Column: 1}}
	start := -1 // of the step, or -1 before its first character
	for i := 0; i < len(text); {
		next := skipToken(text, i)
		switch {
		case start >= 0:
			if text[i] == ';' {
				steps = append(steps, Step{Text: strings.TrimSpace(text[start:i]), At: at.move(start)})
				start = -1
			}
		case text[i] == ';' || isBlank(text[i:next]):
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
	if start >= 0 {
		rest = Step{Text: text[start:], At: at.move(start)}
	}
	return steps, rest
}

// cursor counts the lines and columns of places that only go forward.
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

// isBlank reports whether a token is space, a byte order mark or a comment that is closed.
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

// commandEnd gives the end of the command at the start of s, or 0 if a statement starts there.
func commandEnd(s string) int {
	line, _, _ := strings.Cut(s, "\n")
	if line[0] != ':' {
		if commandText(line) == exit {
			return len(line)
		}
		return 0
	}
	for i := 0; i < len(line); {
		if line[i] == ';' {
			return i
		}
		if line[i] == '"' {
			i = skipToken(line, i)
		} else {
			i++
		}
	}
	return len(line)
}

const exit = ":exit"

// commandText gives a command without what surrounds it, and :exit for its other names.
func commandText(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), "; \t")
	switch strings.ToLower(s) {
	case "exit", "quit", ":quit":
		return exit
	}
	return s
}

// skipToken gives the end of the string, quoted name, comment or character at i. What is not closed goes to the end of the text.
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

// after gives the place behind the first end from i on, or the end of the text.
func after(text string, i int, end string) int {
	if n := strings.Index(text[i:], end); n >= 0 {
		return i + n + len(end)
	}
	return len(text)
}
