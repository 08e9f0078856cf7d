package apoc

import (
	"crypto/md5"  //nolint:gosec // Statements ask for it by name.
	"crypto/sha1" //nolint:gosec // Statements ask for it by name.
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

var numberFunctions = []fn.Function{
	digest("md5", md5.New), digest("sha1", sha1.New), digest("sha256", sha256.New), digest("sha384", sha512.New384), digest("sha512", sha512.New),
	alias("apoc.create.uuid", "randomUUID"),
	constant("maxLong", "INTEGER", graph.IntValue(math.MaxInt64)), constant("minLong", "INTEGER", graph.IntValue(math.MinInt64)),
	constant("maxInt", "INTEGER", graph.IntValue(math.MaxInt32)), constant("minInt", "INTEGER", graph.IntValue(math.MinInt32)),
	constant("maxByte", "INTEGER", graph.IntValue(math.MaxInt8)), constant("minByte", "INTEGER", graph.IntValue(math.MinInt8)),
	constant("maxDouble", "FLOAT", graph.FloatValue(math.MaxFloat64)), constant("minDouble", "FLOAT", graph.FloatValue(math.SmallestNonzeroFloat64)),
	ofFloat("sigmoid", "1 / (1 + e^-x).", sigmoid),
	ofFloat("sigmoidPrime", "The slope of the sigmoid function.", func(x float64) float64 { return sigmoid(x) * (1 - sigmoid(x)) }),
	alias("apoc.math.tanh", "tanh"), alias("apoc.math.coth", "coth"), alias("apoc.math.cosh", "cosh"), alias("apoc.math.sinh", "sinh"),
	ofFloat("sech", "The hyperbolic secant.", func(x float64) float64 { return 1 / math.Cosh(x) }),
	ofFloat("csch", "The hyperbolic cosecant.", func(x float64) float64 { return 1 / math.Sinh(x) }),
	strict("apoc.number.format(number :: NUMBER [, pattern :: STRING, language :: STRING]) :: STRING",
		"The text of a number in English, by a pattern of Java's DecimalFormat of #, 0, a comma and a point; by default #,##0.###.", formatNumber),
	strict("apoc.number.parseInt(text :: STRING [, pattern :: STRING, language :: STRING]) :: INTEGER", "The integer at the beginning of a text in English, with commas between thousands; null if there is none.",
		func(c *call) (graph.Value, error) { return c.parseNumber(true), nil }),
	strict("apoc.number.parseFloat(text :: STRING [, pattern :: STRING, language :: STRING]) :: FLOAT", "The number at the beginning of a text in English, with commas between thousands; null if there is none.",
		func(c *call) (graph.Value, error) { return c.parseNumber(false), nil }),
	strict("apoc.number.arabicToRoman(number :: INTEGER) :: STRING", "A number from 1 to 3,999 in Roman numerals.", toRoman),
	strict("apoc.number.romanToArabic(romanNumber :: STRING) :: INTEGER", "The number of Roman numerals.", fromRoman),
}

// digest makes a function of the hexadecimal digest of the texts of values, one after the other.
func digest(name string, f func() hash.Hash) fn.Function {
	return strict("apoc.util."+name+"(values :: LIST<ANY>) :: STRING", "The "+strings.ToUpper(name)+" digest of the texts of the values, one after the other, in hexadecimal digits.",
		func(c *call) (graph.Value, error) {
			h := f()
			for _, v := range c.list(0) {
				if !v.IsNull() {
					_, _ = h.Write([]byte(plain(v))) // a hash takes everything
				}
			}
			return text(hex.EncodeToString(h.Sum(nil))), nil
		})
}

func constant(name, typ string, v graph.Value) fn.Function {
	return strict("apoc.math."+name+"() :: "+typ, "The number "+plain(v)+".", func(*call) (graph.Value, error) { return v, nil })
}

func ofFloat(name, description string, f func(float64) float64) fn.Function {
	return strict("apoc.math."+name+"(value :: FLOAT) :: FLOAT", description, func(c *call) (graph.Value, error) {
		return graph.FloatValue(f(c.args[0].Number())), nil
	})
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// parseHex reads hexadecimal digits.
func parseHex(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 16, 64)
	return n, err == nil
}

// decimalPattern matches a pattern of DecimalFormat: text, digits before the point, digits after it, text.
var decimalPattern = regexp.MustCompile(`^([^#0,.]*)([#,]*[0,]*)(?:\.(0*)(#*))?([^#0,.]*)$`)

func formatNumber(c *call) (graph.Value, error) {
	pattern := c.textOr(1, "")
	if pattern == "" {
		pattern = "#,##0.###"
	}
	m := decimalPattern.FindStringSubmatch(pattern)
	if m == nil || m[2]+m[3]+m[4] == "" || len(pattern) > maxWidth {
		return null, c.failed("the pattern %q is not of #, 0, a comma and a point", pattern)
	}
	x := c.args[0]
	digits := strconv.FormatInt(x.Int(), 10)
	if x.Kind() == graph.Float {
		if math.IsNaN(x.Float()) || math.IsInf(x.Float(), 0) {
			return text(plain(x)), nil
		}
		digits = strconv.FormatFloat(x.Float(), 'f', len(m[3])+len(m[4]), 64)
	}
	digits, negative := strings.CutPrefix(digits, "-")
	before, after, _ := strings.Cut(digits, ".")
	after += strings.Repeat("0", max(0, len(m[3])-len(after)))
	after = after[:len(m[3])] + strings.TrimRight(after[len(m[3]):], "0")
	before = strings.TrimLeft(before, "0")
	before = strings.Repeat("0", max(0, strings.Count(m[2], "0")-len(before))) + before
	if before == "" && after == "" {
		before = "0"
	}
	if strings.Contains(m[2], ",") {
		before = grouped(before)
	}
	if after != "" {
		before += "." + after
	}
	if negative && strings.Trim(before, "0.,") != "" {
		before = "-" + m[1] + before
	} else {
		before = m[1] + before
	}
	return text(before + m[5]), nil
}

var numberStart = regexp.MustCompile(`^-?[0-9][0-9,]*(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

// parseNumber reads the number at the beginning of the first argument.
func (c *call) parseNumber(whole bool) graph.Value {
	s := strings.ReplaceAll(numberStart.FindString(c.text(0)), ",", "")
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return null
	}
	if !whole {
		return graph.FloatValue(x)
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return graph.IntValue(n)
	}
	if math.Abs(x) >= 1<<63 {
		return null
	}
	return graph.IntValue(int64(x))
}

var numerals = []struct {
	text  string
	value int64
}{{"M", 1000}, {"CM", 900}, {"D", 500}, {"CD", 400}, {"C", 100}, {"XC", 90}, {"L", 50}, {"XL", 40}, {"X", 10}, {"IX", 9}, {"V", 5}, {"IV", 4}, {"I", 1}}

func roman(n int64) string {
	var b strings.Builder
	for _, r := range numerals {
		for ; n >= r.value; n -= r.value {
			b.WriteString(r.text)
		}
	}
	return b.String()
}

func toRoman(c *call) (graph.Value, error) {
	if n := c.int(0); n < 1 || n > 3999 {
		return null, c.failed("the number must be from 1 to 3999, is %d", n)
	}
	return text(roman(c.int(0))), nil
}

func fromRoman(c *call) (graph.Value, error) {
	s, n := strings.ToUpper(c.text(0)), int64(0)
	rest := s
	for _, r := range numerals {
		for strings.HasPrefix(rest, r.text) {
			n, rest = n+r.value, rest[len(r.text):]
		}
	}
	if n < 1 || n > 3999 || rest != "" || roman(n) != s {
		return null, c.failed("%q is not a number in Roman numerals", c.text(0))
	}
	return graph.IntValue(n), nil
}
