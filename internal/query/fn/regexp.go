package fn

import (
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// Regexps is a cache of compiled patterns that one goroutine owns. The zero Regexps is ready.
type Regexps struct {
	last    regexpKey // the pattern compiled last, which most often is the only one
	lastRE  *regexp.Regexp
	compile map[regexpKey]*regexp.Regexp
}

type regexpKey struct {
	pattern string
	part    bool // may match a part of a text
}

// maxRegexps bounds the patterns kept; a statement that makes patterns of its data starts over at this number.
const maxRegexps = 256

// unicodeCase matches the group of flags that selects Unicode case folding in Java, which RE2 always applies.
var unicodeCase = regexp.MustCompile(`^\(\?([is]*)u([is]*)\)`)

// Get compiles a pattern that must match a whole text, in RE2's syntax.
func (r *Regexps) Get(pattern string) (*regexp.Regexp, error) {
	return r.get(regexpKey{pattern, false}, `\A(?:`, `)\z`)
}

// Search compiles a pattern that may match parts of a text, of at most maxPattern bytes.
func (r *Regexps) Search(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, graph.BudgetError("a regular expression has more than %d bytes", maxPattern)
	}
	return r.get(regexpKey{pattern, true}, "", "")
}

func (r *Regexps) get(key regexpKey, before, after string) (*regexp.Regexp, error) {
	pattern := key.pattern
	if r.lastRE != nil && r.last == key {
		return r.lastRE, nil
	}
	re, ok := r.compile[key]
	if !ok {
		var err error
		text := pattern
		if m := unicodeCase.FindStringSubmatch(pattern); m != nil {
			text = "(?" + m[1] + m[2] + ")" + pattern[len(m[0]):]
			text = strings.TrimPrefix(text, "(?)")
		}
		if _, err = syntax.Parse(text, syntax.Perl); err == nil {
			re, err = regexp.Compile(before + text + after)
		}
		if err != nil {
			return nil, graph.RuntimeError("SyntaxError", "InvalidRegularExpression", "invalid regular expression %q: %v", pattern, err)
		}
		if r.compile == nil || len(r.compile) >= maxRegexps {
			r.compile = make(map[regexpKey]*regexp.Regexp)
		}
		r.compile[regexpKey{strings.Clone(pattern), key.part}] = re
	}
	r.last, r.lastRE = regexpKey{strings.Clone(pattern), key.part}, re
	return re, nil
}

// maxPattern bounds, in bytes, the patterns: it takes long to compile a longer one, and nothing ends that.
const maxPattern = 64 << 10

// longMatch is the product of the lengths of a text and a pattern from which a match takes so long that it polls the context. Below
// it, package regexp uses its fastest engine.
const longMatch = 256 << 10

// Matches is text =~ pattern: null unless both are strings.
func (c *Context) Matches(text, pattern graph.Value) (graph.Value, error) {
	if pattern.IsNull() || text.Kind() != graph.String {
		return graph.Value{}, nil
	}
	if pattern.Kind() != graph.String {
		return graph.Value{}, graph.TypeError("InvalidArgumentType", "a pattern must be a String, not %s", notation.Describe(pattern))
	}
	if n := len(pattern.Str()); n > maxPattern {
		return graph.Value{}, graph.BudgetError("a pattern must have at most %d bytes, has %d", maxPattern, n)
	}
	re, err := c.Regexps.Get(pattern.Str())
	if err != nil {
		return graph.Value{}, err
	}
	width := len(pattern.Str()) + 16
	if c.Run == nil || len(text.Str()) < longMatch/width {
		return graph.BoolValue(re.MatchString(text.Str())), nil
	}
	s := endingReader{c: c, s: text.Str(), every: longMatch/width + 1}
	matched := re.MatchReader(&s)
	return graph.BoolValue(matched), s.err
}

// endingReader reads a text until the run ends.
type endingReader struct {
	c     *Context
	s     string // the remaining text
	every int    // so many runes are read between two looks at the context
	read  int
	err   error
}

// ReadRune returns the next character.
func (r *endingReader) ReadRune() (rune, int, error) {
	if r.read++; r.read >= r.every {
		r.read = 0
		if r.err = r.c.Alive(); r.err != nil {
			return 0, 0, r.err
		}
	}
	if r.s == "" {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(r.s)
	r.s = r.s[size:]
	return c, size, nil
}
