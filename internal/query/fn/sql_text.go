package fn

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
)

// maxSQLText bounds the result, in bytes, of functions that repeat a string.
const maxSQLText = 1 << 20

// sqlTextFunctions are SQL's functions of texts. Positions count characters from 1.
var sqlTextFunctions = []Function{
	sqlTexts("length", 1, func(s []string) graph.Value { return graph.IntValue(int64(len(s[0]))) }),
	sqlTexts("char_length", 1, func(s []string) graph.Value { return graph.IntValue(int64(utf8.RuneCountInString(s[0]))) }),
	sqlTexts("upper", 1, func(s []string) graph.Value { return text(strings.ToUpper(s[0])) }),
	sqlTexts("lower", 1, func(s []string) graph.Value { return text(strings.ToLower(s[0])) }),
	sqlTexts("trim", 1, func(s []string) graph.Value { return text(strings.Trim(s[0], " ")) }),
	sqlTexts("ltrim", 1, func(s []string) graph.Value { return text(strings.TrimLeft(s[0], " ")) }),
	sqlTexts("rtrim", 1, func(s []string) graph.Value { return text(strings.TrimRight(s[0], " ")) }),
	sqlTexts("replace", 3, func(s []string) graph.Value {
		if s[1] == "" || strings.Count(s[0], s[1])*len(s[2]) > maxSQLText {
			return text(s[0])
		}
		return text(strings.ReplaceAll(s[0], s[1], s[2]))
	}),
	sqlTexts("reverse", 1, func(s []string) graph.Value {
		r := []rune(s[0])
		slices.Reverse(r)
		return text(string(r))
	}),
	sqlTexts("instr", 2, func(s []string) graph.Value { return locate(s[1], s[0], 1) }),
	sqlTexts("strcmp", 2, func(s []string) graph.Value { return graph.IntValue(int64(strings.Compare(s[0], s[1]))) }),
	sqlTexts("ascii", 1, func(s []string) graph.Value {
		if s[0] == "" {
			return graph.IntValue(0)
		}
		return graph.IntValue(int64(s[0][0]))
	}),
	sqlTexts("find_in_set", 2, func(s []string) graph.Value {
		return graph.IntValue(int64(slices.Index(strings.Split(s[1], ","), s[0]) + 1))
	}),
	sqlFunction("concat", 1, -1, func(_ *Context, args []graph.Value) graph.Value {
		var b strings.Builder
		for _, a := range args {
			b.WriteString(sqlText(a))
		}
		return text(b.String())
	}),
	sqlNulls("concat_ws", 2, -1, func(_ *Context, args []graph.Value) graph.Value {
		if args[0].IsNull() {
			return null
		}
		var parts []string
		for _, a := range args[1:] {
			if !a.IsNull() {
				parts = append(parts, sqlText(a))
			}
		}
		return text(strings.Join(parts, sqlText(args[0])))
	}),
	sqlFunction("join", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		if args[0].Kind() != graph.List || len(args[0].List()) == 0 {
			return null
		}
		var b strings.Builder
		for i, v := range args[0].List() {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(sqlText(v))
		}
		return text(b.String())
	}),
	sqlFunction("left", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return text(substring(sqlText(args[0]), 1, max(sqlInt(args[1]), 0)))
	}),
	sqlFunction("right", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		s, n := sqlText(args[0]), max(sqlInt(args[1]), 0)
		if size := int64(utf8.RuneCountInString(s)); n < size {
			return text(substring(s, size-n+1, n))
		}
		return text(s)
	}),
	sqlFunction("substring", 2, 3, func(_ *Context, args []graph.Value) graph.Value {
		n := int64(maxSQLText)
		if len(args) == 3 {
			n = sqlInt(args[2])
		}
		return text(substring(sqlText(args[0]), sqlInt(args[1]), n))
	}),
	sqlFunction("substring_index", 3, 3, func(_ *Context, args []graph.Value) graph.Value {
		s, sep, n := sqlText(args[0]), sqlText(args[1]), sqlInt(args[2])
		if sep == "" || n == 0 {
			return text("")
		}
		parts := strings.Split(s, sep)
		switch size := int64(len(parts)); {
		case n > 0 && n < size:
			parts = parts[:n]
		case n < 0 && -n < size:
			parts = parts[size+n:]
		}
		return text(strings.Join(parts, sep))
	}),
	sqlFunction("repeat", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return repeated(sqlText(args[0]), sqlInt(args[1]))
	}),
	sqlFunction("space", 1, 1, func(_ *Context, args []graph.Value) graph.Value { return repeated(" ", sqlInt(args[0])) }),
	sqlFunction("lpad", 3, 3, func(_ *Context, args []graph.Value) graph.Value { return padded(args, true) }),
	sqlFunction("rpad", 3, 3, func(_ *Context, args []graph.Value) graph.Value { return padded(args, false) }),
	sqlFunction("locate", 2, 3, func(_ *Context, args []graph.Value) graph.Value {
		from := int64(1)
		if len(args) == 3 {
			from = sqlInt(args[2])
		}
		return locate(sqlText(args[0]), sqlText(args[1]), from)
	}),
	sqlFunction("field", 2, -1, func(_ *Context, args []graph.Value) graph.Value {
		for i, a := range args[1:] {
			if sqlCompare(args[0], a) == 0 {
				return graph.IntValue(int64(i + 1))
			}
		}
		return graph.IntValue(0)
	}),
	sqlFunction("like", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return graph.BoolValue(like(sqlText(args[0]), sqlText(args[1])))
	}),
	sqlFunction("quote_like", 3, 3, func(_ *Context, args []graph.Value) graph.Value {
		quoted := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(sqlText(args[0]))
		return text(sqlText(args[1]) + quoted + sqlText(args[2]))
	}),
	// between reports whether a value is within one of a list of ranges "from,to" or, if the third argument is true, within all of
	// them: as a number for numeric bounds, else as a string.
	sqlFunction("between", 3, 3, func(_ *Context, args []graph.Value) graph.Value {
		all := args[2].Kind() == graph.Bool && args[2].Bool()
		for _, r := range listOf(args[1]) {
			if within(args[0], r) != all {
				return graph.BoolValue(!all)
			}
		}
		return graph.BoolValue(all)
	}),
	sqlFunction("pattern", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		flags := ""
		if args[1].Kind() == graph.Bool && args[1].Bool() {
			flags = "(?i)"
		}
		return text(flags + "(?s:.*?)(?:" + sqlText(args[0]) + ")(?s:.*)")
	}),
}

// within reports whether a value is between the ends of a text "from,to".
func within(v, r graph.Value) bool {
	if r.Kind() != graph.String {
		return false
	}
	a, z, ok := strings.Cut(r.Str(), ",")
	lo, hi := text(strings.TrimSpace(a)), text(strings.TrimSpace(z))
	if v.IsNumber() {
		lo, hi = numberPrefix(lo.Str()), numberPrefix(hi.Str())
	}
	return ok && LessEqual(lo, v) == True && LessEqual(v, hi) == True
}

// substring cuts n characters from position from on; a negative position counts from the end.
func substring(s string, from, n int64) string {
	size := int64(utf8.RuneCountInString(s))
	if from < 0 {
		from += size + 1
	}
	if from < 1 || from > size || n <= 0 {
		return ""
	}
	n = min(n, size-from+1)
	start, end, i := len(s), len(s), int64(0)
	for at := range s {
		i++
		if i == from {
			start = at
		}
		if i == from+n {
			end = at
			break
		}
	}
	return s[start:end]
}

// locate finds a text in another, from a position on; 0 is nowhere.
func locate(part, s string, from int64) graph.Value {
	if from < 1 || from > int64(utf8.RuneCountInString(s))+1 {
		return graph.IntValue(0)
	}
	skipped := substring(s, 1, from-1)
	i := strings.Index(s[len(skipped):], part)
	if i < 0 {
		return graph.IntValue(0)
	}
	return graph.IntValue(int64(utf8.RuneCountInString(s[:len(skipped)+i])) + 1)
}

func repeated(s string, n int64) graph.Value {
	if n <= 0 || s == "" {
		return text("")
	}
	if n > maxSQLText/int64(len(s)) {
		return null
	}
	return text(strings.Repeat(s, int(n)))
}

func padded(args []graph.Value, left bool) graph.Value {
	s, n, pad := sqlText(args[0]), sqlInt(args[1]), sqlText(args[2])
	size := int64(utf8.RuneCountInString(s))
	switch {
	case n < 0 || n > maxSQLText:
		return null
	case n <= size:
		return text(substring(s, 1, n))
	case pad == "":
		return null
	}
	unit := int64(utf8.RuneCountInString(pad))
	times := (n - size + unit - 1) / unit
	if times > maxSQLText/int64(len(pad))+1 {
		return null
	}
	fill := substring(strings.Repeat(pad, int(times)), 1, n-size)
	if left {
		return text(fill + s)
	}
	return text(s + fill)
}

// like reports whether a string matches a pattern of LIKE: % stands for any characters, _ for one, and \ quotes either.
func like(s, pattern string) bool {
	// The last %, the part of s it has matched so far, to backtrack to, and the pattern after it up to the next wildcard.
	star, taken, behind := -1, 0, ""
	i, j := 0, 0
	// find continues at the next occurrence of the text after the %.
	find := func() bool {
		if len(behind) == len(pattern)-star-1 {
			taken = max(taken, len(s)-len(behind)) // it must be the end
		}
		k := strings.Index(s[taken:], behind)
		taken += k
		i, j = taken+len(behind), star+1+len(behind)
		return k >= 0
	}
	for i < len(s) {
		if j < len(pattern) {
			switch c := pattern[j]; {
			case c == '%':
				star, taken = j, i
				if j++; j == len(pattern) {
					return true
				}
				behind = pattern[j:]
				if k := strings.IndexAny(behind, `%_\`); k >= 0 {
					behind = behind[:k]
				}
				if !find() {
					return false
				}
				continue
			case c == '_':
				_, n := utf8.DecodeRuneInString(s[i:])
				i += n
				j++
				continue
			default:
				k := j
				if c == '\\' && j+1 < len(pattern) {
					k++
				}
				if pattern[k] == s[i] {
					i++
					j = k + 1
					continue
				}
			}
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[taken:])
		taken += n
		if !find() {
			return false
		}
	}
	for j < len(pattern) && pattern[j] == '%' {
		j++
	}
	return j == len(pattern)
}
