package verify

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// types are the types of TYPE.
var types = map[string]func(n *syntax.Node) bool{
	"BOOLEAN": func(n *syntax.Node) bool { return n.Kind == syntax.JSONBool },
	"NUMBER":  func(n *syntax.Node) bool { _, err := strconv.ParseInt(textOf(n), 10, 64); return err == nil },
	"DECIMAL": func(n *syntax.Node) bool { _, err := strconv.ParseFloat(textOf(n), 64); return err == nil },
	"STRING":  func(n *syntax.Node) bool { return n.Kind == syntax.JSONString },
	"URL": func(n *syntax.Node) bool {
		u, err := url.Parse(textOf(n))
		return isText(n) && err == nil && u.Scheme != "" && u.Host != ""
	},
	"DATE":     layout("2006-01-02"),
	"TIME":     layout("15:04:05", "15:04"),
	"DATETIME": layout("2006-01-02T15:04:05", "2006-01-02T15:04"),
	"OBJECT":   func(n *syntax.Node) bool { return n.Kind == syntax.JSONObject },
	"ARRAY":    func(n *syntax.Node) bool { return n.Kind == syntax.JSONList },
}

func layout(layouts ...string) func(n *syntax.Node) bool {
	return func(n *syntax.Node) bool {
		for _, l := range layouts {
			if _, err := time.Parse(l, textOf(n)); isText(n) && err == nil {
				return true
			}
		}
		return false
	}
}

func isText(n *syntax.Node) bool { return n.Kind == syntax.JSONString }

// textOf is a text, or the JSON of another value.
func textOf(n *syntax.Node) string {
	if isText(n) {
		return n.Str()
	}
	return string(n.Raw)
}

// is reports whether a value is of the type.
func (t *typed) is(n *syntax.Node, lists int) bool {
	if lists == 0 {
		return types[t.typ](n)
	}
	for _, e := range n.Elems {
		if !t.is(e, lists-1) {
			return false
		}
	}
	return n.Kind == syntax.JSONList
}

// operators are what keys of VERIFY end with.
var operators = []string{"{L}", "{}", "<>", "~", "$"}

// check is a condition of VERIFY.
type check struct {
	rule     *syntax.Node
	key, op  string
	any, not bool // one of the tests suffices; none may hold
	tests    []func(n *syntax.Node) bool
}

// holds reports whether a value meets the condition.
func (c *check) holds(n *syntax.Node) bool {
	for _, test := range c.tests {
		switch ok := test(n); {
		case ok && c.not, !ok && !c.any:
			return false
		case ok && c.any:
			return true
		}
	}
	return c.not || !c.any
}

// parse reads the tests of the condition.
func (c *check) parse() error {
	values := []*syntax.Node{c.rule}
	if c.rule.Kind == syntax.JSONList {
		values = c.rule.Elems
	}
	for _, v := range values {
		switch {
		case c.op == "<>":
			c.tests = append(c.tests, func(n *syntax.Node) bool { return contains(n, v) })
		case c.op == "{}" && c.rule.Kind == syntax.JSONList:
			c.tests = append(c.tests, func(n *syntax.Node) bool { return equal(n, v) })
		case !isText(v):
			return syntax.Illegal(c.rule, "must be a text, was %s", v.What())
		case c.op == "~" || c.op == "$":
			text := v.Str()
			if c.op == "$" {
				text = strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(text))
			}
			if _, err := regexp.Compile(text); err != nil {
				return syntax.Illegal(c.rule, "is no regular expression: %v", err)
			}
			whole := regexp.MustCompile(`^(?s:` + text + `)$`)
			c.tests = append(c.tests, func(n *syntax.Node) bool { return whole.MatchString(textOf(n)) })
		default:
			if err := c.compare(v.Str()); err != nil {
				return err
			}
		}
	}
	return nil
}

// comparison is one of those that commas separate in {} and {L}.
var comparison = regexp.MustCompile(`^\s*(>=|<=|!=|<>|>|<|=)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*$`)

// compare reads comparisons with numbers: of the value, or of a text's number of characters, which must meet all of them.
func (c *check) compare(text string) error {
	c.any = c.any && c.op != "{L}"
	for part := range strings.SplitSeq(text, ",") {
		m := comparison.FindStringSubmatch(part)
		if m == nil {
			return syntax.Illegal(c.rule, "%q must be a sign and a number, such as >=0", part)
		}
		bound, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return syntax.Illegal(c.rule, "%q is out of range", part)
		}
		c.tests = append(c.tests, func(n *syntax.Node) bool {
			x := float64(utf8.RuneCountInString(textOf(n)))
			if c.op == "{}" {
				if n.Kind != syntax.JSONNumber {
					return false
				}
				x, _ = strconv.ParseFloat(string(n.Raw), 64) // infinite, out of range
			}
			switch m[1] {
			case ">":
				return x > bound
			case ">=":
				return x >= bound
			case "<":
				return x < bound
			case "<=":
				return x <= bound
			case "=":
				return x == bound
			}
			return x != bound
		})
	}
	return nil
}

// equal compares values other than lists and objects.
func equal(a, b *syntax.Node) bool {
	return a.Kind == b.Kind && a.Kind != syntax.JSONList && a.Kind != syntax.JSONObject && (a.Kind == syntax.JSONNull || fn.Equal(a.Scalar, b.Scalar) == fn.True)
}

func contains(list, v *syntax.Node) bool {
	for _, e := range list.Elems {
		if equal(e, v) {
			return true
		}
	}
	return false
}
