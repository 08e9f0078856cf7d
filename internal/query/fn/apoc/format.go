package apoc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// specifier matches a format specifier of Java: index, flags, width, precision, conversion.
var specifier = regexp.MustCompile(`%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])`)

// formatText formats as Java's String.format in English, for the conversions %, b, c, d, e, f, n, o, s and x.
func formatText(c *call) (graph.Value, error) {
	var b strings.Builder
	s, next := c.text(0), 0
	for {
		m := specifier.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return s[m[2*i]:m[2*i+1]]
		}
		b.WriteString(s[:m[0]])
		switch verb := part(5); verb {
		case "%":
			b.WriteByte('%')
		case "n":
			b.WriteByte('\n')
		default:
			at := next
			if n, err := strconv.Atoi(part(1)); err == nil {
				at = n - 1
			} else {
				next++
			}
			if at < 0 || at >= len(c.list(1)) {
				return null, c.failed("%s has no parameter", part(0))
			}
			text, err := c.format(part(0), part(2), part(3), part(4), verb, c.list(1)[at])
			if err != nil {
				return null, err
			}
			b.WriteString(text)
		}
		if s = s[m[1]:]; b.Len() > 1<<16 {
			if err := c.Fits(c.name, int64(b.Len()+len(s))); err != nil {
				return null, err
			}
		}
	}
	b.WriteString(s)
	return text(b.String()), nil
}

// maxWidth bounds the width and the precision of a specifier.
const maxWidth = 1000

// format writes a parameter as a specifier says.
func (c *call) format(whole, flags, width, precision, verb string, v graph.Value) (string, error) {
	for _, n := range []string{width, precision} {
		if n, err := strconv.Atoi(n); err == nil && n > maxWidth {
			return "", c.failed("%s is wider than %d characters", whole, maxWidth)
		}
	}
	how := "%" + strings.NewReplacer(",", "", "(", "").Replace(flags) + width
	if precision != "" {
		how += "." + precision
	}
	wrong := c.failed("%s does not format %s", whole, notation.Describe(v))
	switch lower := strings.ToLower(verb); lower {
	case "s":
		return upperIf(verb, fmt.Sprintf(how+"s", plain(v))), nil
	case "b":
		return upperIf(verb, fmt.Sprintf(how+"s", strconv.FormatBool(v.Kind() == graph.Bool && v.Bool() || v.Kind() != graph.Bool && !v.IsNull()))), nil
	case "d", "x", "o":
		n, ok := v.Whole()
		if !ok {
			return "", wrong
		}
		if strings.Contains(flags, ",") {
			return fmt.Sprintf("%"+strings.ReplaceAll(flags, ",", "")+width+"s", grouped(strconv.FormatInt(n, 10))), nil
		}
		return upperIf(verb, fmt.Sprintf(how+lower, n)), nil
	case "f", "e":
		if !v.IsNumber() {
			return "", wrong
		}
		if strings.Contains(flags, ",") {
			places, err := strconv.Atoi(precision)
			if err != nil {
				places = 6
			}
			return fmt.Sprintf("%"+strings.ReplaceAll(flags, ",", "")+width+"s", grouped(strconv.FormatFloat(v.Number(), 'f', places, 64))), nil
		}
		return upperIf(verb, fmt.Sprintf(how+lower, v.Number())), nil
	}
	return "", c.failed("the specifier %s is not known; there are %%s, %%d, %%f, %%e, %%x, %%o, %%b, %%n and %%%%", whole)
}

// upperIf writes what a conversion in upper case writes.
func upperIf(verb, s string) string {
	if verb == strings.ToUpper(verb) {
		return strings.ToUpper(s)
	}
	return s
}

// grouped puts commas between the thousands of a number's digits.
func grouped(digits string) string {
	whole, fraction, ok := strings.Cut(digits, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if ok {
		whole += "." + fraction
	}
	return sign + whole
}

// plain writes a value as text: a string as itself, others in their notation.
func plain(v graph.Value) string {
	if v.Kind() == graph.String {
		return v.Str()
	}
	return string(notation.Append(nil, v))
}
