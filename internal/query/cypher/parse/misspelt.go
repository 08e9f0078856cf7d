package parse

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// tried are the keywords that the parser expected at a token and its neighbours.
type tried struct {
	at    int
	words [3][]string // before it, at it, behind it
}

func (t *tried) add(i int, word string) {
	if n := i - t.at + 1; n >= 0 && n < len(t.words) {
		t.words[n] = append(t.words[n], word)
	}
}

// misspelt returns the error for a word that is nearly a keyword: the one where the parser is stuck, the one behind it if a
// keyword of several words begins there, or the one before it, which may have been read as a variable. It returns nil if there
// is none.
func (p *parser) misspelt() error {
	for _, n := range [...]int{1, 2, 0} {
		i := p.tried.at + n - 1
		if i < 0 || i >= len(p.tokens) || p.tokens[i].kind != tokWord {
			continue
		}
		t, known := &p.tokens[i], p.tried.words[n]
		if slices.Contains(known, strings.ToUpper(t.text)) || n == 0 && ast.Reserved(t.text) {
			continue
		}
		if word := ast.Nearest(t.text, known); word != "" {
			return graph.SyntaxError(unexpectedSyntax, t.pos, invalidInput+" '%s': unknown keyword; did you mean %s?", t.text, word)
		}
	}
	return nil
}
