package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// AnswerName returns the name of a column in the answer: its alias, its property, or the text of its expression as MySQL names it.
// In that text, properties are in backquotes, qualified by the table if several are joined, and strings are in quotes.
func (c *column) AnswerName(t *Table, joined bool) string {
	if !c.bare {
		return c.Name
	}
	qualifier := ""
	if joined {
		label, alias := SplitAlias(t.Key)
		if alias != "" {
			label += "__" + alias
		}
		qualifier = "`" + label + "`."
	}
	return quoteNames(c.Name, qualifier)
}

// quoteNames puts the properties in the text of an expression in backquotes, after the qualifier.
func quoteNames(s, qualifier string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\'' || r == '`':
			end := i + n + strings.IndexRune(s[i+n:], r) + n
			if r == '`' {
				b.WriteString(qualifier)
			}
			b.WriteString(s[i:end])
			i = end
		case r == '_' || unicode.IsLetter(r):
			word := s[i : i+wordLen(s[i:])]
			i += len(word)
			switch {
			case i < len(s) && s[i] == '(':
				end := i + closing(s[i:])
				b.WriteString(word + "(" + quoteArgs(word, s[i+1:end], qualifier) + ")")
				i = end + 1
			case strings.EqualFold(word, "null"):
				b.WriteString(word)
			default:
				b.WriteString(qualifier + "`" + word + "`")
			}
		case unicode.IsDigit(r):
			n = wordLen(s[i:])
			b.WriteString(s[i : i+n])
			i += n
		default:
			b.WriteString(s[i : i+n])
			i += n
		}
	}
	return b.String()
}

// quoteArgs does the same for the arguments of a function. An argument that is no expression is a string.
func quoteArgs(fn, args, qualifier string) string {
	if args == "" || strings.EqualFold(fn, "degree") {
		return args
	}
	parts := splitTop(args, ",")
	for i, a := range parts {
		distinct := ""
		if i == 0 && len(a) > 9 && strings.EqualFold(a[:9], "DISTINCT ") {
			distinct, a = a[:9], a[9:]
		}
		a = strings.TrimSpace(a)
		if _, err := parseExpr(a); err == nil {
			a = quoteNames(a, qualifier)
		} else if a != "*" {
			a = "'" + a + "'"
		}
		parts[i] = distinct + a
	}
	return strings.Join(parts, ",")
}

// wordLen is the length of the letters, digits and underscores that s begins with.
func wordLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return i
		}
	}
	return len(s)
}

// closing returns the position of the parenthesis that closes the one at the start of s. It must exist.
func closing(s string) int {
	depth, quote := 0, byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s) - 1
}
