package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/hopgate/hopgate/internal/cli"
)

// style is an ANSI style.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	yellow style = "33"
)

// on returns text in a style if w is a terminal with colours and NO_COLOR is not set.
func (s style) on(w io.Writer, text string) string {
	if s == plain || text == "" || !colored(w) {
		return text
	}
	return s.always(text)
}

func (s style) always(text string) string { return "\x1b[" + string(s) + "m" + text + "\x1b[0m" }

// colored reports whether w supports colours. See no-color.org.
func colored(w io.Writer) bool {
	return cli.IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// visible escapes characters that would break a table's lines or control the terminal.
func visible(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
