package fn

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/hopgate/hopgate/internal/graph"
)

// Lengths and places in strings count Unicode code points.

var stringFunctions = []Function{
	mapText("toUpper", "The string in capitals.", upperText),
	mapText("upper", "The string in capitals.", upperText),
	mapText("toLower", "The string in small letters.", lowerText),
	mapText("lower", "The string in small letters.", lowerText),
	trim("trim", "both ends", true, true),
	trim("btrim", "both ends", true, true),
	trim("ltrim", "the beginning", true, false),
	trim("rtrim", "the end", false, true),
	charLength("char_length"),
	charLength("character_length"),
	{
		Name: "left", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Result:    String | Null,
		Signature: "left(text :: STRING, length :: INTEGER) :: STRING", Description: "The first characters.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg("left", args[0])
			if err != nil {
				return null, err
			}
			n, err := countArg("left", args[1])
			return graph.StringValue(s[:offsetOf(s, n)]), err
		}),
	},
	{
		Name: "right", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Result:    String | Null,
		Signature: "right(text :: STRING, length :: INTEGER) :: STRING", Description: "The last characters.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg("right", args[0])
			if err != nil {
				return null, err
			}
			n, err := countArg("right", args[1])
			at := len(s)
			for ; n > 0 && at > 0; n-- {
				_, width := utf8.DecodeLastRuneInString(s[:at])
				at -= width
			}
			return graph.StringValue(s[at:]), err
		}),
	},
	{
		Name: "substring", MinArgs: 2, MaxArgs: 3, Deterministic: true,
		Result:      String | Null,
		Signature:   "substring(text :: STRING, start :: INTEGER [, length :: INTEGER]) :: STRING",
		Description: "The characters from a place, counted from 0, to the end or as many as given.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg("substring", args[0])
			if err != nil {
				return null, err
			}
			start, err := countArg("substring", args[1])
			if err != nil {
				return null, err
			}
			s = s[offsetOf(s, start):]
			if len(args) == 3 {
				n, err := countArg("substring", args[2])
				if err != nil {
					return null, err
				}
				s = s[:offsetOf(s, n)]
			}
			return graph.StringValue(s), nil
		}),
	},
	{
		Name: "replace", MinArgs: 3, MaxArgs: 4, Deterministic: true,
		Result:      String | Null,
		Signature:   "replace(text :: STRING, search :: STRING, replacement :: STRING [, limit :: INTEGER]) :: STRING",
		Description: "The string with another in place of each occurrence of a third, from the left as many as given.",
		Eval: strict(func(c *Context, args []graph.Value) (graph.Value, error) {
			var s [3]string
			for i := range s {
				var err error
				if s[i], err = textArg("replace", args[i]); err != nil {
					return null, err
				}
			}
			limit := -1
			if len(args) == 4 {
				var err error
				if limit, err = countArg("replace", args[3]); err != nil {
					return null, err
				}
			}
			if len(s[2]) > len(s[1]) {
				n := strings.Count(s[0], s[1])
				if limit >= 0 {
					n = min(n, limit)
				}
				if err := c.Fits("replace", int64(len(s[0]))+int64(n)*int64(len(s[2])-len(s[1]))); err != nil {
					return null, err
				}
			}
			return graph.StringValue(strings.Replace(s[0], s[1], s[2], limit)), nil
		}),
	},
	{
		Name: "split", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Result: List | Null, Elem: String,
		Signature:   "split(text :: STRING, delimiter :: STRING | LIST<STRING>) :: LIST<STRING>",
		Description: "The parts of the string between the delimiters.",
		Eval:        strict(split),
	},
	pad("lpad", "before", true),
	pad("rpad", "after", false),
}

// offsetOf returns the byte at which the nth character begins, or the length of a shorter string.
func offsetOf(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// upperText and lowerText take more than one character where Unicode does: ß is SS in capitals, and Σ at a word's end is ς.
func upperText(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func lowerText(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func mapText(name, description string, f func(string) string) Function {
	return Function{
		Name: name, MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result: String | Null, Signature: name + "(text :: STRING) :: STRING", Description: description,
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg(name, args[0])
			if err != nil {
				return null, err
			}
			return graph.StringValue(f(s)), nil
		}),
	}
}

func charLength(name string) Function {
	return Function{
		Name: name, MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result: Integer | Null, Signature: name + "(text :: STRING) :: INTEGER", Description: "The number of characters.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg(name, args[0])
			return graph.IntValue(int64(utf8.RuneCountInString(s))), err
		}),
	}
}

func trim(name, where string, left, right bool) Function {
	return Function{
		Name: name, MinArgs: 1, MaxArgs: 2, Deterministic: true,
		Result:      String | Null,
		Signature:   name + "(text :: STRING [, characters :: STRING]) :: STRING",
		Description: "The string without white space, or without the characters given, at " + where + ".",
		Eval: strict(func(c *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg(name, args[0])
			if err != nil {
				return null, err
			}
			in := isSpace
			if len(args) == 2 {
				set, err := textArg(name, args[1])
				if err != nil {
					return null, err
				}
				in = inSet(set)
			}
			steps := 0
			drop := func(r rune) bool {
				if steps++; steps&0xffff == 0 && err == nil {
					err = c.Alive()
				}
				return err == nil && in(r)
			}
			if left {
				s = strings.TrimLeftFunc(s, drop)
			}
			if right {
				s = strings.TrimRightFunc(s, drop)
			}
			return graph.StringValue(s), err
		}),
	}
}

// isSpace reports whether a character is white space as Java and so Neo4j have it: Unicode's spaces that may break a line, and ASCII's
// controls and separators.
func isSpace(r rune) bool {
	switch r {
	case '\u00a0', '\u2007', '\u202f', // they do not break a line
		'\u0085':
		return false
	}
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// inSet returns a function that reports whether a character belongs to a set.
func inSet(set string) func(rune) bool {
	if len(set) < 32 {
		return func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	all := map[rune]bool{}
	for _, r := range set {
		all[r] = true
	}
	return func(r rune) bool { return all[r] }
}

func pad(name, where string, left bool) Function {
	const longest = 1 << 26 // bytes
	return Function{
		Name: name, MinArgs: 2, MaxArgs: 3, Deterministic: true,
		Result:      String | Null,
		Signature:   name + "(text :: STRING, size :: INTEGER [, padding :: STRING]) :: STRING",
		Description: "The string cut, or filled up with spaces or the padding given " + where + " it, to a size.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg(name, args[0])
			if err != nil {
				return null, err
			}
			size, err := countArg(name, args[1])
			if err != nil {
				return null, err
			}
			padding := " "
			if len(args) == 3 {
				if padding, err = textArg(name, args[2]); err != nil {
					return null, err
				}
			}
			have := utf8.RuneCountInString(s)
			if have >= size || padding == "" {
				return graph.StringValue(s[:offsetOf(s, size)]), nil
			}
			unit := utf8.RuneCountInString(padding)
			times := (size - have + unit - 1) / unit
			if times > longest/len(padding) {
				return null, graph.BudgetError("%s() would make a string of more than %d bytes", name, longest)
			}
			fill := strings.Repeat(padding, times)
			fill = fill[:offsetOf(fill, size-have)]
			if left {
				return graph.StringValue(fill + s), nil
			}
			return graph.StringValue(s + fill), nil
		}),
	}
}

func split(c *Context, args []graph.Value) (graph.Value, error) {
	s, err := textArg("split", args[0])
	if err != nil {
		return null, err
	}
	if args[1].Kind() != graph.List {
		delimiter, err := textArg("split", args[1])
		if err != nil {
			return null, err
		}
		if s == "" {
			return textList([]string{""}), nil
		}
		if parts, most := int64(strings.Count(s, delimiter))+1, c.MostCells(); parts > most {
			return null, graph.BudgetError("split() would make a list of %d elements, more than %d", parts, most)
		}
		return textList(strings.Split(s, delimiter)), nil
	}
	var delimiters []string
	for _, v := range args[1].List() {
		if v.IsNull() {
			return null, nil
		}
		delimiter, err := textArg("split", v)
		if err != nil {
			return null, err
		}
		delimiters = append(delimiters, delimiter)
	}
	parts, err := splitAny(c, s, delimiters)
	return textList(parts), err
}

// splitAny splits at the earliest delimiter; of several at one position, the first listed wins.
func splitAny(c *Context, s string, delimiters []string) ([]string, error) {
	// next holds the next position of each delimiter at or after the end of the part already split.
	next := slices.Repeat([]int{-1}, len(delimiters))
	var out []string
	for at, steps := 0, 0; ; {
		first := -1
		for i, d := range delimiters {
			if steps++; steps&0xfff == 0 {
				if err := c.Alive(); err != nil {
					return nil, err
				}
			}
			if next[i] < at {
				next[i] = len(s)
				if j := strings.Index(s[at:], d); d != "" && j >= 0 {
					next[i] = at + j
				}
			}
			if next[i] < len(s) && (first < 0 || next[i] < next[first]) {
				first = i
			}
		}
		if first < 0 {
			return append(out, s[at:]), nil
		}
		out = append(out, s[at:next[first]])
		at = next[first] + len(delimiters[first])
	}
}
