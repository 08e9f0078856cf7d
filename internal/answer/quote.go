package answer

import "strings"

// QuoteName returns a name as openCypher writes any name.
func QuoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
