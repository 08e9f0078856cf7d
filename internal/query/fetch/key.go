package fetch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isName reports whether s can name a property, an alias or a function.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// splitAlias splits "name:alias".
func splitAlias(key string) (name, alias string) {
	name, alias, _ = strings.Cut(key, ":")
	return name, alias
}

// isTableKey reports whether a key names a table: a label that begins with an upper-case letter, and maybe an alias.
func isTableKey(key string) bool {
	name, alias := splitAlias(key)
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r) && isName(name) && (alias == "" && !strings.Contains(key, ":") || isName(alias))
}

// isArrayKey reports whether a key names an array.
func isArrayKey(key string) bool { return strings.HasSuffix(key, "[]") }

// arrayTarget parses the name of an array into the selection from its items: "User[]" gives User, "User-id[]" User and id. A name
// after a colon is that of the array, not of a table in it. The caller checks that they exist.
func arrayTarget(key string) []string {
	name, _ := splitAlias(strings.TrimSuffix(key, "[]"))
	if name == "" {
		return nil
	}
	return strings.Split(name, "-")
}

// operator is the comparison that a condition's key requests.
type operator uint8

const (
	opEqual operator = iota
	opGreater
	opGreaterEqual
	opLess
	opLessEqual
	opIn       // {}
	opLike     // $
	opRegexp   // ~
	opBetween  // %
	opContains // <>
	opExists   // }{
)

// logic joins the parts of a condition.
type logic uint8

const (
	logicOr  logic = iota // the default, and |
	logicAnd              // &
	logicNot              // !
)

// condKey is the parsed key of a condition: name, length mark, logic, operator, and @ for a reference.
type condKey struct {
	name   string
	op     operator
	logic  logic
	marked bool // the logic is written out
	fold   bool // *~: without regard to case
	left   byte // of opLike: the wildcard of LIKE before the text, 0 for none
	right  byte // and behind it
	quoted bool // of opLike: the text contains no wildcards
	length byte // '[' compares the length of a text, '{' that of a list
	ref    bool
}

// parseCondKey parses a condition's key. It returns a reason if it cannot.
func parseCondKey(key string) (c condKey, reason string) {
	if strings.HasSuffix(key, "@") {
		c.ref, key = true, key[:len(key)-1]
	}
	cut := func(suffix string, op operator) bool {
		rest, ok := strings.CutSuffix(key, suffix)
		if ok {
			key, c.op = rest, op
		}
		return ok
	}
	switch {
	case cut("$", opLike):
		if key, reason = c.wildcards(key); reason != "" {
			return c, reason
		}
	case cut("*~", opRegexp):
		c.fold = true
	case cut("~", opRegexp), cut("%", opBetween), cut("{}", opIn), cut("}{", opExists), cut("<>", opContains),
		cut(">=", opGreaterEqual), cut("<=", opLessEqual), cut(">", opGreater), cut("<", opLess):
	}
	if key != "" {
		switch key[len(key)-1] {
		case '&':
			c.logic, c.marked = logicAnd, true
		case '|':
			c.marked = true
		case '!':
			c.logic, c.marked = logicNot, true
		}
		if c.marked {
			key = key[:len(key)-1]
		}
	}
	if key != "" {
		if last := key[len(key)-1]; last == '[' || last == '{' {
			c.length, key = last, key[:len(key)-1]
		}
	}
	c.name = key
	if !isName(key) {
		return c, "is no key: it must be a name, maybe with a suffix such as !, >=, {}, $ or @"
	}
	switch c.op {
	case opGreater, opGreaterEqual, opLess, opLessEqual:
		if c.marked {
			return c, "comparisons take none of & | !"
		}
	case opEqual:
		if c.marked && c.logic != logicNot {
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
	c.left, c.right, c.quoted = left, right, true
	return key, ""
}
