package apoc

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

var textFunctions = []fn.Function{
	strict("apoc.text.join(texts :: LIST<STRING>, delimiter :: STRING) :: STRING", "The texts with a delimiter between them.", joinTexts),
	strict("apoc.text.replace(text :: STRING, regex :: STRING, replacement :: STRING) :: STRING",
		"The text with a replacement for each match of a regular expression; $1 in it is the first group.", replaceText),
	strict("apoc.text.regreplace(text :: STRING, regex :: STRING, replacement :: STRING) :: STRING",
		"The text with a replacement for each match of a regular expression; $1 in it is the first group.", replaceText),
	strict("apoc.text.split(text :: STRING, regex :: STRING [, limit :: INTEGER]) :: LIST<STRING>",
		"The parts of a text between the matches of a regular expression, without empty ones at the end; at most limit parts if that is above 0.", splitText),
	loose("apoc.text.regexGroups(text :: STRING, regex :: STRING) :: LIST<LIST<STRING>>", "Each match of a regular expression, followed by its groups.", regexGroups),
	loose("apoc.text.regexGroupsByName(text :: STRING, regex :: STRING) :: LIST<MAP>", "Each match of a regular expression (group) and its named groups (matches).", namedGroups),
	strict("apoc.text.indexOf(text :: STRING, lookup :: STRING [, from :: INTEGER, to :: INTEGER]) :: INTEGER",
		"The place of the first occurrence of a text in another one, or -1.", indexOfText),
	strict("apoc.text.indexesOf(text :: STRING, lookup :: STRING [, from :: INTEGER, to :: INTEGER]) :: LIST<INTEGER>",
		"The places of all occurrences of a text in another one.", indexesOfText),
	ofText("apoc.text.capitalize", "The text with its first letter in upper case.", func(s string) string { return mapFirst(s, unicode.ToUpper) }),
	ofText("apoc.text.decapitalize", "The text with its first letter in lower case.", func(s string) string { return mapFirst(s, unicode.ToLower) }),
	ofText("apoc.text.capitalizeAll", "The text with the first letter of each word in upper case.", func(s string) string { return mapWords(s, unicode.ToUpper) }),
	ofText("apoc.text.decapitalizeAll", "The text with the first letter of each word in lower case.", func(s string) string { return mapWords(s, unicode.ToLower) }),
	ofText("apoc.text.swapCase", "The text with upper and lower case exchanged.", swapCase),
	ofText("apoc.text.camelCase", "The words of a text in camelCase.", func(s string) string { return mapFirst(camelCase(s), unicode.ToLower) }),
	ofText("apoc.text.upperCamelCase", "The words of a text in UpperCamelCase.", camelCase),
	ofText("apoc.text.snakeCase", "The words of a text in lower case, joined by hyphens.", snakeCase),
	ofText("apoc.text.toUpperCase", "The words of a text in upper case, joined by underscores.", upperSnakeCase),
	ofText("apoc.text.clean", "The letters and digits of a text in lower case, without marks.", clean),
	loose("apoc.text.compareCleaned(text1 :: STRING, text2 :: STRING) :: BOOLEAN", "Whether the letters and digits of two texts are the same, but for their case.",
		func(c *call) (graph.Value, error) {
			return graph.BoolValue(!c.args[0].IsNull() && !c.args[1].IsNull() && clean(c.text(0)) == clean(c.text(1))), nil
		}),
	strict("apoc.text.slug(text :: STRING [, delimiter :: STRING]) :: STRING", "The text with a delimiter for each run of other characters than letters, digits and underscores.",
		func(c *call) (graph.Value, error) {
			return text(notWord.ReplaceAllLiteralString(strings.TrimSpace(c.text(0)), c.textOr(1, "-"))), nil
		}),
	strict("apoc.text.lpad(text :: STRING, count :: INTEGER [, delimiter :: STRING]) :: STRING", "The text, lengthened on the left by the first character of a delimiter.",
		func(c *call) (graph.Value, error) { p, err := c.padding(); return text(p + c.text(0)), err }),
	strict("apoc.text.rpad(text :: STRING, count :: INTEGER [, delimiter :: STRING]) :: STRING", "The text, lengthened on the right by the first character of a delimiter.",
		func(c *call) (graph.Value, error) { p, err := c.padding(); return text(c.text(0) + p), err }),
	strict("apoc.text.repeat(item :: STRING, count :: INTEGER) :: STRING", "A text, repeated.", func(c *call) (graph.Value, error) {
		return c.repeat(c.text(0), c.int(1))
	}),
	reading(strict("apoc.text.format(text :: STRING, params :: LIST<ANY> [, language :: STRING]) :: STRING",
		"A text with the params in place of Java's format specifiers, such as %s, %5d and %.2f.", formatText)),
	ofText("apoc.text.urlencode", "The text as a value in the query of a URL.", url.QueryEscape),
	strict("apoc.text.urldecode(text :: STRING) :: STRING", "The text of a value in the query of a URL.", func(c *call) (graph.Value, error) {
		s, err := url.QueryUnescape(c.text(0))
		return c.decoded([]byte(s), err)
	}),
	ofText("apoc.text.base64Encode", "The text in Base64.", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
	ofText("apoc.text.base64UrlEncode", "The text in Base64 for URLs.", func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) }),
	strict("apoc.text.base64Decode(text :: STRING) :: STRING", "The text from Base64.",
		func(c *call) (graph.Value, error) { return c.decoded(base64.StdEncoding.DecodeString(c.text(0))) }),
	strict("apoc.text.base64UrlDecode(url :: STRING) :: STRING", "The text from Base64 for URLs.",
		func(c *call) (graph.Value, error) { return c.decoded(base64.URLEncoding.DecodeString(c.text(0))) }),
	strict("apoc.text.charAt(text :: STRING, index :: INTEGER) :: INTEGER", "The code of the character at a place, or null.", func(c *call) (graph.Value, error) {
		if r := []rune(c.text(0)); c.int(1) >= 0 && c.int(1) < int64(len(r)) {
			return graph.IntValue(int64(r[c.int(1)])), nil
		}
		return null, nil
	}),
	strict("apoc.text.code(codepoint :: INTEGER) :: STRING", "The character with a code, or null.", func(c *call) (graph.Value, error) {
		if n := c.int(0); n >= 0 && n <= unicode.MaxRune && utf8.ValidRune(rune(n)) {
			return text(string(rune(n))), nil
		}
		return null, nil
	}),
	strict("apoc.text.hexValue(value :: INTEGER) :: STRING", "The hexadecimal digits of a number: 4, 8 or 16.", func(c *call) (graph.Value, error) {
		return text(hexValue(uint64(c.int(0)))), nil
	}),
	strict("apoc.text.hexCharAt(text :: STRING, index :: INTEGER) :: STRING", "The hexadecimal digits of the code of the character at a place, or null.",
		func(c *call) (graph.Value, error) {
			if r := []rune(c.text(0)); c.int(1) >= 0 && c.int(1) < int64(len(r)) {
				return text(hexValue(uint64(r[c.int(1)]))), nil
			}
			return null, nil
		}),
	strict("apoc.text.byteCount(text :: STRING) :: INTEGER", "The number of bytes of a text in UTF-8.",
		func(c *call) (graph.Value, error) { return graph.IntValue(int64(len(c.text(0)))), nil }),
	strict("apoc.text.bytes(text :: STRING) :: LIST<INTEGER>", "The bytes of a text in UTF-8.", func(c *call) (graph.Value, error) {
		out := make([]graph.Value, len(c.text(0)))
		for i := range out {
			out[i] = graph.IntValue(int64(c.text(0)[i]))
		}
		return graph.ListValue(out), nil
	}),
	volatile(strict("apoc.text.random(length :: INTEGER [, valid :: STRING]) :: STRING", "Random characters of those that are valid; A-Z, a-z and 0-9 in it are ranges.", randomText)),
}

var (
	notWord    = regexp.MustCompile(`[^\pL0-9_]+`)
	notLetters = regexp.MustCompile(`[^\pL0-9]+`)
)

func joinTexts(c *call) (graph.Value, error) {
	list, err := c.texts(0)
	if err != nil {
		return null, err
	}
	return text(strings.Join(list, c.text(1))), nil
}

// javaGroup matches what is special in a replacement of Java: an escaped character, or the number of a group.
var javaGroup = regexp.MustCompile(`\\(.)|\$(\d)`)

func replaceText(c *call) (graph.Value, error) {
	re, err := c.Regexps.Search(c.text(1))
	if err != nil {
		return null, err
	}
	with := javaGroup.ReplaceAllStringFunc(c.text(2), func(m string) string {
		switch {
		case m == `\$`:
			return "$$"
		case m[0] == '\\':
			return m[1:]
		}
		return "${" + m[1:] + "}"
	})
	s := re.ReplaceAllString(c.text(0), with)
	return text(s), c.Fits(c.name, int64(len(s)))
}

// splitText splits as Java's String.split.
func splitText(c *call) (graph.Value, error) {
	re, err := c.Regexps.Search(c.text(1))
	if err != nil {
		return null, err
	}
	s, limit := c.text(0), c.intOr(2, 0)
	var parts []string
	begin := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		if limit > 0 && int64(len(parts)) == limit-1 || m[1] == 0 || m[0] == m[1] && m[0] == len(s) {
			continue
		}
		parts = append(parts, s[begin:m[0]])
		begin = m[1]
	}
	parts = append(parts, s[begin:])
	for limit == 0 && len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return texts(parts), nil
}

// eachMatch lists what value makes of each match of the pattern; a null text or pattern has none.
func eachMatch(c *call, value func(names []string, m []int) graph.Value) (graph.Value, error) {
	if c.args[0].IsNull() || c.args[1].IsNull() {
		return graph.ListValue(nil), nil
	}
	re, err := c.Regexps.Search(c.text(1))
	if err != nil {
		return null, err
	}
	var out []graph.Value
	for _, m := range re.FindAllStringSubmatchIndex(c.text(0), -1) {
		out = append(out, value(re.SubexpNames(), m))
	}
	return graph.ListValue(out), nil
}

func regexGroups(c *call) (graph.Value, error) {
	return eachMatch(c, func(_ []string, m []int) graph.Value {
		groups := make([]graph.Value, len(m)/2)
		for i := range groups {
			groups[i] = group(c.text(0), m, i)
		}
		return graph.ListValue(groups)
	})
}

// group returns a group of a match, or null if it has no part in it.
func group(s string, m []int, i int) graph.Value {
	if m[2*i] < 0 {
		return null
	}
	return text(s[m[2*i]:m[2*i+1]])
}

func namedGroups(c *call) (graph.Value, error) {
	return eachMatch(c, func(names []string, m []int) graph.Value {
		var matches entries
		for i, name := range names {
			if v := group(c.text(0), m, i); name != "" && !v.IsNull() {
				matches.set(name, v)
			}
		}
		return graph.MapValue([]graph.MapEntry{{Key: "group", Value: group(c.text(0), m, 0)}, {Key: "matches", Value: matches.value()}})
	})
}

// window returns the part of the text to search, and where it begins.
func (c *call) window() (part []rune, from int) {
	r := []rune(c.text(0))
	to := len(r)
	if n := c.intOr(3, -1); n >= 0 && n < int64(to) {
		to = int(n)
	}
	from = int(min(max(c.intOr(2, 0), 0), int64(to)))
	return r[from:to], from
}

func indexOfText(c *call) (graph.Value, error) {
	part, from := c.window()
	before, _, ok := strings.Cut(string(part), c.text(1))
	if !ok {
		return graph.IntValue(-1), nil
	}
	return graph.IntValue(int64(from + utf8.RuneCountInString(before))), nil
}

func indexesOfText(c *call) (graph.Value, error) {
	part, from := c.window()
	s, at := string(part), from
	var out []graph.Value
	for c.text(1) != "" {
		before, _, ok := strings.Cut(s, c.text(1))
		if !ok {
			break
		}
		at += utf8.RuneCountInString(before)
		out = append(out, graph.IntValue(int64(at)))
		_, n := utf8.DecodeRuneInString(s[len(before):])
		s, at = s[len(before)+n:], at+1
	}
	return graph.ListValue(out), nil
}

func mapFirst(s string, f func(rune) rune) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(f(r)) + s[n:]
}

func mapWords(s string, f func(rune) rune) string {
	words := strings.Split(s, " ")
	for i := range words {
		words[i] = mapFirst(words[i], f)
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func camelCase(s string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(notLetters.ReplaceAllString(s, " ")) {
		b.WriteString(mapFirst(strings.ToLower(word), unicode.ToUpper))
	}
	return b.String()
}

// words splits a text before each character for which begins is true, and trims the parts.
func words(s string, begins func(rune) bool) []string {
	var out []string
	from := 0
	cut := func(to int) {
		if w := strings.TrimSpace(s[from:to]); w != "" {
			out = append(out, w)
		}
		from = to
	}
	for i, r := range s {
		if begins(r) {
			cut(i)
		}
	}
	cut(len(s))
	return out
}

var capitals = regexp.MustCompile(`^[\p{Lu}0-9_]+$`)

func snakeCase(s string) string {
	if capitals.MatchString(s) {
		s = strings.ReplaceAll(strings.ToLower(s), "_", " ")
	}
	parts := words(s, func(r rune) bool { return !unicode.IsLower(r) && (r < '0' || r > '9') })
	return strings.ReplaceAll(strings.ToLower(strings.Join(parts, "-")), "--", "-")
}

func upperSnakeCase(s string) string {
	var out []string
	for _, w := range words(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		w = strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, strings.ToUpper(w))
		if w != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, "_")
}

var umlauts = strings.NewReplacer("Ä", "Ae", "Ü", "Ue", "Ö", "Oe", "ä", "ae", "ü", "ue", "ö", "oe", "ß", "ss")

func clean(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, norm.NFD.String(umlauts.Replace(s))))
}

// padding returns what a text needs to be as long as asked.
func (c *call) padding() (string, error) {
	delimiter := []rune(c.textOr(2, " "))
	if len(delimiter) == 0 {
		return "", c.failed("the delimiter is empty")
	}
	v, err := c.repeat(string(delimiter[:1]), c.int(1)-int64(utf8.RuneCountInString(c.text(0))))
	if err != nil {
		return "", err
	}
	return v.Str(), nil
}

func (c *call) repeat(s string, n int64) (graph.Value, error) {
	n = max(n, 0)
	const most = 1 << 40 // beyond any text
	if err := c.Fits(c.name, min(n, most)*int64(len(s))); err != nil {
		return null, err
	}
	return text(strings.Repeat(s, int(n))), nil
}

// decoded returns decoded bytes as a text.
func (c *call) decoded(b []byte, err error) (graph.Value, error) {
	switch {
	case err != nil:
		return null, c.failed("%v", err)
	case !utf8.Valid(b):
		return null, c.failed("the decoded bytes are not UTF-8")
	}
	return text(string(b)), nil
}

func hexValue(n uint64) string {
	var b [8]byte
	for i := range b {
		b[i] = byte(n >> (56 - 8*i))
	}
	from := 0
	switch {
	case n <= 0xffff:
		from = 6
	case n <= 0xffff_ffff:
		from = 4
	}
	return strings.ToUpper(hex.EncodeToString(b[from:]))
}

var ranges = strings.NewReplacer("A-Z", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "a-z", "abcdefghijklmnopqrstuvwxyz", "0-9", "0123456789")

func randomText(c *call) (graph.Value, error) {
	valid := []rune(ranges.Replace(c.textOr(1, "A-Za-z0-9")))
	if len(valid) == 0 {
		return null, c.failed("there is no valid character")
	}
	n := max(c.int(0), 0)
	if err := c.Fits(c.name, n); err != nil {
		return null, err
	}
	out := make([]rune, n)
	for i := range out {
		out[i] = valid[c.Random()%uint64(len(valid))]
	}
	return text(string(out)), nil
}
