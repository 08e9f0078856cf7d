package fn

import (
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
		Signature: "right(text :: STRING, length :: INTEGER) :: STRING", Description: "The last characters.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg("right", args[0])
			if err != nil {
				return null, err
			}
			n, err := countArg("right", args[1])
			if all := utf8.RuneCountInString(s); n < all {
				s = s[offsetOf(s, all-n):]
			}
			return graph.StringValue(s), err
		}),
	},
	{
		Name: "substring", MinArgs: 2, MaxArgs: 3, Deterministic: true,
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
		Signature:   "replace(text :: STRING, search :: STRING, replacement :: STRING [, limit :: INTEGER]) :: STRING",
		Description: "The string with another in place of each occurrence of a third, from the left as many as given.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
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
			return graph.StringValue(strings.Replace(s[0], s[1], s[2], limit)), nil
		}),
	},
	{
		Name: "split", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Signature:   "split(text :: STRING, delimiter :: STRING | LIST<STRING>) :: LIST<STRING>",
		Description: "The parts of the string between the delimiters.",
		Eval:        strict(split),
	},
	pad("lpad", "before", true),
	pad("rpad", "after", false),
}

// offsetOf gives the byte at which the nth character begins, or the length of a shorter string.
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
		Signature: name + "(text :: STRING) :: STRING", Description: description,
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
		Signature: name + "(text :: STRING) :: INTEGER", Description: "The number of characters.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg(name, args[0])
			return graph.IntValue(int64(utf8.RuneCountInString(s))), err
		}),
	}
}

func trim(name, where string, left, right bool) Function {
	return Function{
		Name: name, MinArgs: 1, MaxArgs: 2, Deterministic: true,
		Signature:   name + "(text :: STRING [, characters :: STRING]) :: STRING",
		Description: "The string without white space, or without the characters given, at " + where + ".",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg(name, args[0])
			if err != nil {
				return null, err
			}
			drop := unicode.IsSpace
			if len(args) == 2 {
				set, err := textArg(name, args[1])
				if err != nil {
					return null, err
				}
				drop = func(r rune) bool { return strings.ContainsRune(set, r) }
			}
			if left {
				s = strings.TrimLeftFunc(s, drop)
			}
			if right {
				s = strings.TrimRightFunc(s, drop)
			}
			return graph.StringValue(s), nil
		}),
	}
}

func pad(name, where string, left bool) Function {
	const longest = 1 << 26 // bytes
	return Function{
		Name: name, MinArgs: 2, MaxArgs: 3, Deterministic: true,
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

func split(_ *Context, args []graph.Value) (graph.Value, error) {
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
	return textList(splitAny(s, delimiters)), nil
}

// splitAny cuts at whichever delimiter comes first; of those at one place the first given counts.
func splitAny(s string, delimiters []string) []string {
	var out []string
	for {
		at, width := -1, 0
		for _, d := range delimiters {
			if i := strings.Index(s, d); d != "" && i >= 0 && (at < 0 || i < at) {
				at, width = i, len(d)
			}
		}
		if at < 0 {
			return append(out, s)
		}
		out = append(out, s[:at])
		s = s[at+width:]
	}
}
