package fn

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Regexps is a cache of compiled patterns that one goroutine owns. The zero Regexps is ready.
type Regexps struct {
	last    string // the pattern compiled last, which most often is the only one
	lastRE  *regexp.Regexp
	compile map[string]*regexp.Regexp
}

// maxRegexps bounds the patterns kept; a statement that makes patterns of its data starts over at this number.
const maxRegexps = 256

// Get compiles a pattern that must match a whole text, in RE2's syntax.
func (r *Regexps) Get(pattern string) (*regexp.Regexp, error) {
	if r.lastRE != nil && r.last == pattern {
		return r.lastRE, nil
	}
	re, ok := r.compile[pattern]
	if !ok {
		var err error
		if _, err = syntax.Parse(pattern, syntax.Perl); err == nil {
			re, err = regexp.Compile(`\A(?:` + pattern + `)\z`)
		}
		if err != nil {
			return nil, graph.RuntimeError("SyntaxError", "InvalidRegularExpression", "invalid regular expression %q: %v", pattern, err)
		}
		if r.compile == nil || len(r.compile) >= maxRegexps {
			r.compile = make(map[string]*regexp.Regexp)
		}
		r.compile[strings.Clone(pattern)] = re
	}
	r.last, r.lastRE = strings.Clone(pattern), re
	return re, nil
}

// Matches is text =~ pattern: null unless both are strings.
func (r *Regexps) Matches(text, pattern graph.Value) (graph.Value, error) {
	if pattern.IsNull() || text.Kind() != graph.String {
		return graph.Value{}, nil
	}
	if pattern.Kind() != graph.String {
		return graph.Value{}, graph.TypeError("InvalidArgumentType", "a pattern must be a String, not %s", Describe(pattern))
	}
	re, err := r.Get(pattern.Str())
	if err != nil {
		return graph.Value{}, err
	}
	return graph.BoolValue(re.MatchString(text.Str())), nil
}
