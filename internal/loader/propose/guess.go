package propose

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// listMark is the default separator of list elements in text.
const listMark = ";"

// sampleColumn is a column of sampled records.
type sampleColumn struct {
	name   string
	values []string // one for each record
	kinds  []record.Kind
	binary bool // values are not text
}

// add adds the value of a record. Records before it that had none count as missing.
func (c *sampleColumn) add(row int, text string, kind record.Kind) {
	for len(c.values) < row {
		c.values, c.kinds = append(c.values, ""), append(c.kinds, record.Missing)
	}
	if len(c.values) == row {
		c.values, c.kinds = append(c.values, text), append(c.kinds, kind)
	}
}

// null reports whether a value is missing.
func (c *sampleColumn) null(i int) bool {
	return c.kinds[i] == record.Missing || c.kinds[i] == record.Null || c.values[i] == ""
}

// example returns the first value that is not null, or "".
func (c *sampleColumn) example() string {
	for i, v := range c.values {
		if !c.null(i) {
			return v
		}
	}
	return ""
}

// holes counts the JSON arrays with null elements, which no property can hold.
func (c *sampleColumn) holes() (n int) {
	var lines record.Lines
	for i, v := range c.values {
		if c.kinds[i] == record.Array && !c.binary && slices.ContainsFunc(lines.Elements(nil, []byte(v)), func(e record.Cell) bool { return e.Kind == record.Null }) {
			n++
		}
	}
	return n
}

// repeats counts the rows whose value occurs in an earlier row, and the rows without a value.
func (c *sampleColumn) repeats(rows int) (duplicates, missing int) {
	seen := make(map[string]bool, rows)
	for i, v := range c.values {
		switch {
		case c.null(i):
			missing++
		case seen[v]:
			duplicates++
		default:
			seen[v] = true
		}
	}
	return duplicates, missing + max(0, rows-len(c.values))
}

// typ guesses the type that all values have. It is "" for text and for JSON values of several types. ok is false for objects and arrays of
// objects, which no property can hold.
func (c *sampleColumn) typ() (name string, ok bool) {
	var values []string
	var kinds []record.Kind
	lists, scalars, spaces := 0, 0, false
	var lines record.Lines
	for i, v := range c.values {
		switch {
		case c.null(i):
			continue
		case c.kinds[i] == record.Object || c.kinds[i] == record.Array && strings.HasPrefix(v, "["+typedJSON):
			return "any", strings.HasPrefix(strings.TrimPrefix(v, "["), typedJSON)
		case c.binary && c.kinds[i] == record.Array:
			return "bytes[]", true
		case c.binary:
			return "bytes", true
		case c.kinds[i] == record.Array:
			lists++
			for _, e := range lines.Elements(nil, []byte(v)) {
				if e.Kind == record.Object || e.Kind == record.Array {
					return "", false
				}
				if e.Kind == record.Null {
					continue
				}
				values, kinds = append(values, string(e.Text)), append(kinds, e.Kind)
			}
			continue
		case c.kinds[i] <= record.Quoted:
			spaces = spaces || strings.ContainsFunc(v, unicode.IsSpace)
			if strings.Contains(strings.Trim(v, listMark), listMark) {
				lists++
			} else {
				scalars++
			}
		default:
			scalars++
		}
		values, kinds = append(values, v), append(kinds, c.kinds[i])
	}
	if len(values) == 0 {
		if lists > 0 {
			return "string[]", true
		}
		return "", true
	}
	if kinds[0] <= record.Quoted {
		if lists == 0 || spaces {
			return commonType(values, kinds), true
		}
		var elements []string
		for _, v := range values {
			for e := range strings.SplitSeq(v, listMark) {
				if e == "" {
					return "", true // lists have no empty elements
				}
				elements = append(elements, e)
			}
		}
		return listOf(commonType(elements, make([]record.Kind, len(elements)))), true
	}
	t := commonType(values, kinds)
	switch {
	case lists > 0 && scalars > 0:
		return "", true
	case lists > 0:
		return listOf(t), true
	}
	return t, true
}

func listOf(element string) string {
	if element == "" {
		element = "string"
	}
	return element + "[]"
}

// commonType returns the narrowest type that all values have, or "".
func commonType(values []string, kinds []record.Kind) string {
	for _, t := range valueTypes {
		all := true
		for i, v := range values {
			if all = t.jsonKind(kinds[i]) && t.holds(v); !all {
				break
			}
		}
		if all {
			return t.name
		}
	}
	return ""
}

// typedJSON begins a value whose type JSON does not have.
const typedJSON = `{"$type":`

// valueType is a type that typ can guess from text.
type valueType struct {
	name  string
	json  record.Kind // the kind that JSON values of the type have
	holds func(text string) bool
}

// jsonKind reports whether a value of a kind may have the type.
func (t *valueType) jsonKind(k record.Kind) bool { return k <= record.Quoted || k == t.json }

// valueTypes lists types from the narrowest to the widest. Text that a conversion would change, such as 007, stays text.
var valueTypes = []valueType{
	{"int", record.Number, func(s string) bool {
		i, err := strconv.ParseInt(s, 10, 64)
		return err == nil && strconv.FormatInt(i, 10) == s
	}},
	{"float", record.Number, isFloat},
	{"boolean", record.Bool, func(s string) bool { return strings.EqualFold(s, "true") || strings.EqualFold(s, "false") }},
	{"date", record.String, func(s string) bool {
		_, err := temporal.ParseDate(s)
		return err == nil && strings.Count(s, "-") == 2
	}},
	{"localdatetime", record.String, func(s string) bool {
		_, err := temporal.ParseLocalDateTime(s)
		return err == nil && strings.Contains(s, "T") && strings.Contains(s, "-")
	}},
	{"datetime", record.String, func(s string) bool {
		_, err := temporal.ParseDateTime(s, temporal.Zone{})
		return err == nil && strings.Contains(s, "T") && strings.Contains(s, "-")
	}},
	{"localtime", record.String, func(s string) bool {
		_, err := temporal.ParseLocalTime(s)
		return err == nil && strings.Contains(s, ":")
	}},
	{"time", record.String, func(s string) bool {
		_, err := temporal.ParseTime(s, temporal.Zone{}, time.Unix(0, 0))
		return err == nil && strings.Contains(s, ":")
	}},
	{"duration", record.String, func(s string) bool {
		_, err := temporal.ParseDuration(s)
		return err == nil && len(s) > 2
	}},
}

// isFloat reports whether text is a decimal number. Numbers with leading zeros, such as phone numbers, and integers of more than 64 bits are
// not.
func isFloat(s string) bool {
	if _, err := strconv.ParseFloat(s, 64); err != nil || strings.Trim(s, "+-.0123456789eE") != "" || s[0] == '+' {
		return false
	}
	if _, err := strconv.ParseInt(s, 10, 64); err != nil && !strings.ContainsAny(s, ".eE") {
		return false // a float would change it
	}
	digits := strings.TrimPrefix(s, "-")
	return len(digits) < 2 || digits[0] != '0' || digits[1] < '0' || digits[1] > '9'
}
