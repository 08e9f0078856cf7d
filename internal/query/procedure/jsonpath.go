package procedure

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// jsonPath is a path of JSONPath with names, indexes, * and .. only. The empty path is the value itself.
type jsonPath []jsonStep

// jsonStep leads to members or elements: one by its name or index, or all.
type jsonStep struct {
	name    string
	index   int
	indexed bool
	all     bool
	deep    bool // from the value and from all within it
}

// parseJSONPath parses a path such as $.a['b'][0]..c[*].
func parseJSONPath(procedure, text string) (jsonPath, error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, nil
	}
	if !strings.HasPrefix(rest, "$") {
		rest = "$." + rest
	}
	p := jsonPath{}
	for rest = rest[1:]; rest != ""; {
		var s jsonStep
		var ok bool
		if rest, s.deep = strings.CutPrefix(rest, ".."); s.deep && !strings.HasPrefix(rest, "[") {
			rest = "." + rest
		}
		if rest, ok = s.read(rest); !ok {
			return nil, fn.CallFailed("%s: path %q: only names, indexes, * and .. are supported, as in $.a['b'][0]..c[*]", procedure, text)
		}
		p = append(p, s)
	}
	return p, nil
}

// read reads .name, .*, ['name'], [0] or [*] from the beginning of text, and returns what follows.
func (s *jsonStep) read(text string) (rest string, ok bool) {
	if text, ok := strings.CutPrefix(text, "."); ok {
		n := strings.IndexAny(text, ".[")
		if n < 0 {
			n = len(text)
		}
		s.name, s.all = text[:n], text[:n] == "*"
		return text[n:], n > 0 && !strings.ContainsAny(s.name, "()?@]'\" ")
	}
	text, ok = strings.CutPrefix(text, "[")
	if !ok {
		return "", false
	}
	if text != "" && (text[0] == '\'' || text[0] == '"') {
		s.name, rest, ok = strings.Cut(text[1:], text[:1]+"]")
		return rest, ok && !strings.ContainsAny(s.name, `'"\`)
	}
	inside, rest, ok := strings.Cut(text, "]")
	if inside == "*" {
		s.all = true
		return rest, ok
	}
	var err error
	s.index, err = strconv.Atoi(inside)
	s.indexed = true
	return rest, ok && err == nil
}

// find returns what the path leads to: a value or null, or, if it may lead to several, a list.
func (p jsonPath) find(v graph.Value) graph.Value {
	found, several := []graph.Value{v}, false
	for _, s := range p {
		several = several || s.all || s.deep
		var next []graph.Value
		for _, v := range found {
			next = s.from(next, v)
		}
		found = next
	}
	switch {
	case several:
		return graph.ListValue(found)
	case len(found) == 0:
		return graph.Value{}
	}
	return found[0]
}

// from appends what the step leads to from a value.
func (s *jsonStep) from(dst []graph.Value, v graph.Value) []graph.Value {
	switch v.Kind() {
	case graph.List:
		n := len(v.List())
		for i, e := range v.List() {
			if s.all || s.indexed && (s.index == i || s.index+n == i) {
				dst = append(dst, e)
			}
		}
	case graph.Map:
		for _, e := range v.Map() {
			if s.all || !s.indexed && e.Key == s.name {
				dst = append(dst, e.Value)
			}
		}
	}
	if !s.deep {
		return dst
	}
	for _, e := range children(v) {
		dst = s.from(dst, e)
	}
	return dst
}

// children returns the elements of a list or the values of a map.
func children(v graph.Value) []graph.Value {
	switch v.Kind() {
	case graph.List:
		return v.List()
	case graph.Map:
		out := make([]graph.Value, len(v.Map()))
		for i, e := range v.Map() {
			out[i] = e.Value
		}
		return out
	}
	return nil
}
