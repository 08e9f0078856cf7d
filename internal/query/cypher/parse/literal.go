package parse

import (
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
)

// Literal is a number or a string in a text, without a sign: the bytes Start to End, which are Runes characters from the one
// numbered Offset. Lifted says that a parameter stands in its place in the tree.
type Literal struct {
	Value         graph.Value
	Start, End    int
	Offset, Runes int
	Lifted        bool
}

// Literals returns the literals of a text in their order; none of a text that has a fault, or a parameter for which taken is
// true, or that is no longer read since alive, which is asked now and then, gives an error; nil is asked nothing.
func Literals(text string, taken func(name string) bool, alive func() error) []Literal {
	var found []Literal
	for _, t := range lex(text, alive) {
		l := Literal{Start: t.start, End: t.end, Offset: t.pos.Offset}
		switch t.kind {
		case tokError:
			return nil
		case tokParameter:
			if taken(t.text) {
				return nil
			}
			continue
		case tokInt:
			if t.overflow {
				return nil // only the sign before it makes it a number
			}
			l.Value = graph.IntValue(int64(t.num))
		case tokFloat:
			l.Value = graph.FloatValue(t.float)
		case tokString:
			l.Value = graph.StringValue(t.text)
		default:
			continue
		}
		l.Runes = utf8.RuneCountInString(text[t.start:t.end])
		found = append(found, l)
	}
	return found
}
