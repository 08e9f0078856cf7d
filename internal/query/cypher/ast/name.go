package ast

import (
	"strings"
	"unicode"
)

// reserved are the words that cannot be variables without backticks. As labels, relationship types, property keys and parts of
// function names they need none.
var reserved = map[string]bool{
	"AND": true, "AS": true, "CASE": true, "CONTAINS": true, "CREATE": true, "DELETE": true, "DETACH": true,
	"DISTINCT": true, "ELSE": true, "ENDS": true, "FALSE": true, "IN": true, "IS": true,
	"MATCH": true, "MERGE": true, "NOT": true, "NULL": true, "OPTIONAL": true, "OR": true, "REMOVE": true, "RETURN": true,
	"SET": true, "STARTS": true, "THEN": true, "TRUE": true, "UNION": true, "UNWIND": true, "WHEN": true, "WHERE": true,
	"WITH": true, "XOR": true,
}

// Reserved reports whether a word, in any case, cannot be a variable without backticks.
func Reserved(word string) bool { return reserved[strings.ToUpper(word)] }

// IsNameStart reports whether a name may begin with the character.
func IsNameStart(r rune) bool {
	return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' ||
		r >= 0x80 && unicode.In(r, unicode.L, unicode.Nl, unicode.Pc, unicode.Other_ID_Start)
}

// IsNamePart reports whether a name may continue with the character.
func IsNamePart(r rune) bool {
	return IsNameStart(r) || '0' <= r && r <= '9' ||
		r >= 0x80 && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Other_ID_Continue)
}

func plain(name string) bool {
	for i, r := range name {
		if i == 0 && !IsNameStart(r) || !IsNamePart(r) {
			return false
		}
	}
	return name != ""
}

// Quote writes a label, relationship type, property key or similar name, in backticks only if it needs them.
func Quote(name string) string {
	if plain(name) {
		return name
	}
	return quoted(name)
}

// QuoteVariable writes a variable, in backticks only if it needs them.
func QuoteVariable(name string) string {
	if Reserved(name) {
		return quoted(name)
	}
	return Quote(name)
}

func upper(s string) string { return strings.ToUpper(s) }

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
