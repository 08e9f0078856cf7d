package parse

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// kind is the kind of a token.
type kind uint8

const (
	tokEOF       kind = iota
	tokError          // token.err holds the error; the last token
	tokWord           // a name or keyword without backticks
	tokQuoted         // a name in backticks; token.text is without them
	tokInt            // token.num is the value
	tokFloat          // token.float is the value
	tokString         // token.text is unescaped
	tokParameter      // token.text is the name
	tokPunct          // token.text is one of the signs
	tokDash           // a dash other than -, allowed in relationship patterns only
	tokLeft           // an arrow head other than <, likewise
	tokRight          // an arrow head other than >, likewise
)

// token is a piece of the text: bytes start to end.
type token struct {
	kind       kind
	overflow   bool // tokInt: the value is 2⁶³, allowed behind a minus sign only
	start, end int
	pair       int // of an opening bracket: the index of the token that closes it, or 0
	num        uint64
	float      float64
	pos        graph.Pos
	text       string
	err        *graph.Error
}

// is reports whether the token is the keyword, given in capitals.
func (t *token) is(word string) bool {
	return t.kind == tokWord && len(t.text) == len(word) && strings.EqualFold(t.text, word)
}

// sign reports whether the token is the punctuation.
func (t *token) sign(s string) bool { return t.kind == tokPunct && t.text == s }

// name reports whether the token can name a label, type, key or function.
func (t *token) name() bool { return t.kind == tokWord || t.kind == tokQuoted }

// describe is the token as an error message shows it.
func (t *token) describe() string {
	switch t.kind {
	case tokEOF:
		return "end of the statement"
	case tokQuoted:
		return "`" + t.text + "`"
	case tokString:
		return "string"
	case tokParameter:
		return "$" + t.text
	default:
		return "'" + t.text + "'"
	}
}
