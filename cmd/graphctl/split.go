package main

import "strings"

// splitStatements splits a text at the semicolons that end statements: those outside of strings, quoted names and comments.
// rest is what follows the last of them. Statements that hold nothing but space and comments are left out.
func splitStatements(text string) (statements []string, rest string) {
	start, content := 0, false
	for i := 0; i < len(text); {
		next := skipToken(text, i)
		switch {
		case text[i] == ';':
			if content {
				statements = append(statements, strings.TrimSpace(text[start:i]))
			}
			start, content = next, false
		case !isComment(text[i:]) && strings.TrimSpace(text[i:next]) != "":
			content = true
		}
		i = next
	}
	if content || openComment(text[start:]) {
		rest = strings.TrimSpace(text[start:])
	}
	return statements, rest
}

func isComment(s string) bool { return strings.HasPrefix(s, "//") || strings.HasPrefix(s, "/*") }

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
	return i + 1
}

// after gives the place behind the first end from i on, or the end of the text.
func after(text string, i int, end string) int {
	if n := strings.Index(text[i:], end); n >= 0 {
		return i + n + len(end)
	}
	return len(text)
}

// openComment reports whether a text ends inside of a comment between /* and */.
func openComment(text string) bool {
	for i := 0; i < len(text); {
		next := skipToken(text, i)
		if strings.HasPrefix(text[i:], "/*") && (next-i < 4 || !strings.HasSuffix(text[i:next], "*/")) {
			return true
		}
		i = next
	}
	return false
}
