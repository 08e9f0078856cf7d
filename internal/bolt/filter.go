package bolt

import "strings"

// Filter says which notifications a client does not want. The zero Filter says nothing.
type Filter struct {
	Severity string // the least: OFF, WARNING or INFORMATION; "" is all
	Disabled string // classes, each between commas; "" is none
}

// filterOf reads a filter. Its classes were called categories up to 5.4.
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

// Passes reports whether a notification of a severity and a class is wanted.
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
