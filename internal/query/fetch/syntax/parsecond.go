package syntax

import (
	"regexp"
	"strings"
)

// checkPattern returns the reason why a regular expression is invalid.
func checkPattern(p string) string {
	for _, text := range [2]string{p, WholePattern(p, false)} {
		if _, err := regexp.Compile(text); err != nil {
			return "is no regular expression: " + err.Error()
		}
	}
	return ""
}

// WholePattern creates a pattern that matches a whole text where p matches a part of it.
func WholePattern(p string, fold bool) string {
	flags := ""
	if fold {
		flags = "(?i)"
	}
	return flags + "(?s:.*?)(?:" + p + ")(?s:.*)"
}

// Lifted reports whether a member's value becomes a parameter or is copied to the answer, so that binding does not
// depend on it.
func Lifted(key string, n *Node, depth int) bool {
	if key == "" || key[0] == '@' || key[len(key)-1] == '@' || strings.HasSuffix(key, "()") || depth == 1 && key == "format" {
		return false
	}
	switch key {
	case "join", "query", "hop", "depth", "walk", "find", "must", "from", "range", "compat":
		return false
	case "count", "page":
		return n.Kind == JSONNumber
	}
	switch key[len(key)-1] {
	case '%', '~', '>', '<':
		// Lists of these are bound element by element; <> too.
		return n.Kind != JSONList && key[len(key)-1] != '%' && key[len(key)-1] != '~'
	case '$':
		return n.Kind == JSONString
	case '}':
		return n.Kind == JSONList
	}
	return true
}
