package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsName reports whether s can name a property, an alias or a function.
func IsName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// SplitAlias splits "name:alias".
func SplitAlias(key string) (name, alias string) {
	name, alias, _ = strings.Cut(key, ":")
	return name, alias
}

// IsTableKey reports whether a key names a table: a label that begins with an upper-case letter, and maybe an alias.
func IsTableKey(key string) bool {
	name, alias := SplitAlias(key)
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r) && IsName(name) && (alias == "" && !strings.Contains(key, ":") || IsName(alias))
}

// IsArrayKey reports whether a key names an array.
func IsArrayKey(key string) bool { return strings.HasSuffix(key, "[]") }

// ArrayTarget parses the name of an array into the selection from its items: "User[]" gives User, "User-id[]" User and id. A name
// after a colon is that of the array, not of a table in it. The caller checks that they exist.
func ArrayTarget(key string) []string {
	name, _ := SplitAlias(strings.TrimSuffix(key, "[]"))
	if name == "" {
		return nil
	}
	return strings.Split(name, "-")
}

// Operator is the comparison that a condition's key requests.
type Operator uint8

// The operators.
const (
	OpEqual Operator = iota
	OpGreater
	OpGreaterEqual
	OpLess
	OpLessEqual
	OpIn       // {}
	OpLike     // $
	OpRegexp   // ~
	OpBetween  // %
	OpContains // <>
	OpExists   // }{
)

// logic joins the parts of a condition.
type logic uint8

// The ways to join.
const (
	logicOr  logic = iota // the default, and |
	LogicAnd              // &
	LogicNot              // !
)

// condKey is the parsed key of a condition: name, length mark, logic, operator, and @ for a reference.
type condKey struct {
	Name   string
	Op     Operator
	Logic  logic
	Marked bool // the logic is written out
	Fold   bool // *~: without regard to case
	Left   byte // of opLike: the wildcard of LIKE before the text, 0 for none
	Right  byte // and behind it
	Quoted bool // of opLike: the text contains no wildcards
	Length byte // '[' compares the length of a text, '{' that of a list
	ref    bool
}

// parseCondKey parses a condition's key. It returns a reason if it cannot.
func parseCondKey(key string) (c condKey, reason string) {
	if strings.HasSuffix(key, "@") {
		c.ref, key = true, key[:len(key)-1]
	}
	cut := func(suffix string, op Operator) bool {
		rest, ok := strings.CutSuffix(key, suffix)
		if ok {
			key, c.Op = rest, op
		}
		return ok
	}
	switch {
	case cut("$", OpLike):
		if key, reason = c.wildcards(key); reason != "" {
			return c, reason
		}
	case cut("*~", OpRegexp):
		c.Fold = true
	case cut("~", OpRegexp), cut("%", OpBetween), cut("{}", OpIn), cut("}{", OpExists), cut("<>", OpContains),
		cut(">=", OpGreaterEqual), cut("<=", OpLessEqual), cut(">", OpGreater), cut("<", OpLess):
	}
	if key != "" {
		switch key[len(key)-1] {
		case '&':
			c.Logic, c.Marked = LogicAnd, true
		case '|':
			c.Marked = true
		case '!':
			c.Logic, c.Marked = LogicNot, true
		}
		if c.Marked {
			key = key[:len(key)-1]
		}
	}
	if key != "" {
		if last := key[len(key)-1]; last == '[' || last == '{' {
			c.Length, key = last, key[:len(key)-1]
		}
	}
	c.Name = key
	if !IsName(key) {
		return c, "is no key: it must be a name, maybe with a suffix such as !, >=, {}, $ or @"
	}
	switch c.Op {
	case OpGreater, OpGreaterEqual, OpLess, OpLessEqual:
		if c.Marked {
			return c, "comparisons take none of & | !"
		}
	case OpEqual:
		if c.Marked && c.Logic != LogicNot {
			return c, "equality takes neither & nor |"
		}
	}
	return c, ""
}

// wildcards parses the wildcards before $: % or _ as in LIKE, ? for none; two for both sides or one for both.
func (c *condKey) wildcards(key string) (rest, reason string) {
	isMark := func(b byte) bool { return b == '%' || b == '_' || b == '?' }
	if key == "" || !isMark(key[len(key)-1]) {
		return key, ""
	}
	right := key[len(key)-1]
	if right == '_' && !strings.ContainsAny(key, "%?") {
		return key, "" // a name that ends with an underscore
	}
	key = key[:len(key)-1]
	left := right
	if key != "" && isMark(key[len(key)-1]) {
		left, key = key[len(key)-1], key[:len(key)-1]
		if left == right {
			return key, "repeats a wildcard"
		}
	} else if right == '?' {
		return key, "? needs % or _ on the other side"
	}
	if left == '?' {
		left = 0
	}
	if right == '?' {
		right = 0
	}
	c.Left, c.Right, c.Quoted = left, right, true
	return key, ""
}
