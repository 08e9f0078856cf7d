package syntax

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Function is "key()": "name(a,b)", a remote function.
type Function struct {
	Name string
	Args []FunctionArg
	// Early says that the arguments are values of the request ("key-()"), and Late that the call comes after the children ("key+()").
	Early, Late bool
}

// FunctionArg is an argument of a remote function: a path from its object, or a literal.
type FunctionArg struct {
	Path    string // "" for a literal
	Literal graph.Value
}

const maxFunctionName = 64

// function reads the member of a remote function.
func (p *TreeParser) function(m *Node) (*Member, error) {
	if m.Kind != JSONString {
		return nil, Illegal(m, `must be a function such as "name(a,b)", was %s`, m.What())
	}
	if err := p.short(m); err != nil {
		return nil, err
	}
	if p.head {
		return nil, Unsupported(m, "head counts rows and calls no functions")
	}
	f, why := parseFunction(m.Str())
	if why != "" {
		return nil, Illegal(m, "%s", why)
	}
	key := strings.TrimSuffix(m.Key, "()")
	switch {
	case strings.HasSuffix(key, "-"):
		key, f.Early = key[:len(key)-1], true
	case strings.HasSuffix(key, "+"):
		key, f.Late = key[:len(key)-1], true
	}
	if key == "" || strings.HasPrefix(key, "@") {
		return nil, Unsupported(m, "a function needs a key for its result")
	}
	return &Member{Kind: MemberCall, Key: key, N: m, Call: f}, nil
}

// parseFunction reads name(a,b); why says what is wrong.
func parseFunction(text string) (f *Function, why string) {
	name, rest, ok := strings.Cut(strings.TrimSpace(text), "(")
	f = &Function{Name: strings.TrimSpace(name)}
	inner, closed := strings.CutSuffix(rest, ")")
	if !ok || !closed {
		return nil, `must be a function such as "name(a,b)"`
	}
	if !isFunctionName(f.Name) {
		return nil, strconv.Quote(f.Name) + " is not a function name"
	}
	if strings.TrimSpace(inner) == "" {
		return f, ""
	}
	for {
		arg, after, why := functionArg(inner)
		if why != "" {
			return nil, why
		}
		f.Args = append(f.Args, arg)
		if after == "" {
			return f, ""
		}
		inner = after[1:]
	}
}

// functionArg reads an argument, and returns what follows it: "" or text that begins with a comma.
func functionArg(text string) (a FunctionArg, after, why string) {
	text = strings.TrimLeft(text, " ")
	if strings.HasPrefix(text, "'") {
		var b strings.Builder
		for i := 1; i < len(text); i++ {
			if text[i] != '\'' {
				b.WriteByte(text[i])
				continue
			}
			if i+1 < len(text) && text[i+1] == '\'' { // a quote within
				b.WriteByte('\'')
				i++
				continue
			}
			if after = strings.TrimLeft(text[i+1:], " "); after != "" && after[0] != ',' {
				return a, "", strconv.Quote(after) + " stands where a comma may stand"
			}
			return FunctionArg{Literal: graph.StringValue(b.String())}, after, ""
		}
		return a, "", "a quote is not closed"
	}
	end := len(text)
	if i := strings.IndexByte(text, ','); i >= 0 {
		end = i
	}
	word := strings.TrimRight(text[:end], " ")
	switch {
	case word == "" || strings.ContainsAny(word, "()'\""):
		return a, "", strconv.Quote(word) + " is no argument: an argument is a key, a path of keys, a number, 'text', true, false or null"
	case word == "null":
		return a, text[end:], ""
	case word == "true", word == "false":
		return FunctionArg{Literal: graph.BoolValue(word == "true")}, text[end:], ""
	}
	if v := Numeric(word); !v.IsNull() {
		return FunctionArg{Literal: v}, text[end:], ""
	}
	return FunctionArg{Path: word}, text[end:], ""
}

// isFunctionName reports whether a name may be that of a trusted operation.
func isFunctionName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= maxFunctionName
}

// inOrder puts early functions before other members, and late ones after them.
func inOrder(members []*Member) {
	rank := func(m *Member) int {
		switch {
		case m.Kind != MemberCall:
			return 1
		case m.Call.Early:
			return 0
		case m.Call.Late:
			return 2
		}
		return 1
	}
	if slices.ContainsFunc(members, func(m *Member) bool { return m.Kind == MemberCall }) {
		slices.SortStableFunc(members, func(a, b *Member) int { return rank(a) - rank(b) })
	}
}
