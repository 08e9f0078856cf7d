package answer

import "strings"

// QuoteName returns a name as openCypher writes any name.
func QuoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

var textQuoter = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`)

// QuoteText returns a string as an openCypher literal on one line.
func QuoteText(s string) string { return "'" + textQuoter.Replace(s) + "'" }
