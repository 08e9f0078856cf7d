package bolt

import (
	"slices"
	"strconv"
	"strings"
)

// Filter selects the notifications that a client wants. The zero Filter is unset.
type Filter struct {
	Severity string // the minimum: OFF, WARNING or INFORMATION; "" means all
	Disabled string // disabled classes, with commas around each; "" means none
}

// severities and classes are what Neo4j knows of notifications.
var (
	severities = []string{"OFF", "WARNING", "INFORMATION"}
	classes    = []string{"DEPRECATION", "GENERIC", "HINT", "PERFORMANCE", "SCHEMA", "SECURITY", "TOPOLOGY", "UNRECOGNIZED", "UNSUPPORTED"}
)

// filterOf reads a filter. Up to 5.4, classes were called categories.
func filterOf(f *fields) (out Filter) {
	key := "notifications_minimum_severity"
	if out.Severity = strings.ToUpper(f.text(key)); out.Severity != "" {
		f.oneOf(key, out.Severity, severities)
	}
	key = "notifications_disabled_classifications"
	disabled := f.texts(key)
	if disabled == nil {
		key = "notifications_disabled_categories"
		disabled = f.texts(key)
	}
	if disabled == nil {
		return out
	}
	out.Disabled = "," + strings.ToUpper(strings.Join(disabled, ",")) + ","
	for _, d := range disabled {
		f.oneOf(key, strings.ToUpper(d), classes)
	}
	return out
}

// oneOf records an error unless a value is one of those known.
func (f *fields) oneOf(key, value string, known []string) {
	if !slices.Contains(known, value) {
		f.fail(key, "of "+strings.Join(known, ", ")+", is "+strconv.Quote(value))
	}
}

// Passes reports whether the client wants notifications of a severity and a class.
func (f Filter) Passes(severity, class string) bool {
	switch f.Severity {
	case "OFF":
		return false
	case "WARNING":
		if severity != "WARNING" {
			return false
		}
	}
	return !strings.Contains(f.Disabled, ","+strings.ToUpper(class)+",")
}
