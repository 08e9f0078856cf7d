package bolt

import "strings"

// Filter selects the notifications that a client wants. The zero Filter is unset.
type Filter struct {
	Severity string // the minimum: OFF, WARNING or INFORMATION; "" means all
	Disabled string // disabled classes, with commas around each; "" means none
}

// filterOf reads a filter. Up to 5.4, classes were called categories.
func filterOf(f *fields) (out Filter) {
	out.Severity = f.text("notifications_minimum_severity")
	classes := f.texts("notifications_disabled_classifications")
	if classes == nil {
		classes = f.texts("notifications_disabled_categories")
	}
	if classes != nil {
		out.Disabled = "," + strings.ToUpper(strings.Join(classes, ",")) + ","
	}
	return out
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
