package parse

import (
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Literal is an unsigned number or a string in a text: bytes Start to End, which are Runes characters from character Offset. Lifted
// reports whether a parameter replaces it in the tree.
type Literal struct {
	Value         graph.Value
	Start, End    int
	Offset, Runes int
	Lifted        bool
}

// Literals returns the literals of a text in order. It returns none if the text has a lexical error, or a parameter for which
// taken is true. What ends count unwinds it.
func Literals(text string, taken func(name string) bool, count *steps.Counter) []Literal {
	var found []Literal
	for _, t := range lex(text, count) {
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
