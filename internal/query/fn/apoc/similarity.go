package apoc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

const pair = "(text1 :: STRING, text2 :: STRING) :: "

var similarityFunctions = []fn.Function{
	strict("apoc.text.distance"+pair+"INTEGER", "How many characters to insert, delete or replace to make one text of another (Levenshtein).", levenshteinDistance),
	strict("apoc.text.levenshteinDistance"+pair+"INTEGER", "How many characters to insert, delete or replace to make one text of another.", levenshteinDistance),
	strict("apoc.text.levenshteinSimilarity"+pair+"FLOAT", "1 minus the Levenshtein distance as a part of the longer text.", func(c *call) (graph.Value, error) {
		longer := max(utf8.RuneCountInString(c.text(0)), utf8.RuneCountInString(c.text(1)))
		if longer == 0 {
			return graph.FloatValue(1), nil
		}
		n, err := levenshtein(c)
		return graph.FloatValue(float64(longer-n) / float64(longer)), err
	}),
	strict("apoc.text.hammingDistance"+pair+"INTEGER", "At how many places two texts of one length differ.", hamming),
	strict("apoc.text.jaroWinklerDistance"+pair+"FLOAT", "1 minus the Jaro-Winkler similarity: 0 for equal texts.", func(c *call) (graph.Value, error) {
		s, err := jaroWinkler(c, []rune(c.text(0)), []rune(c.text(1)))
		return graph.FloatValue(1 - s), err
	}),
	strict("apoc.text.sorensenDiceSimilarity(text1 :: STRING, text2 :: STRING [, languageTag :: STRING]) :: FLOAT",
		"What part of the pairs of neighbouring letters two texts share.", sorensenDice),
	strict("apoc.text.fuzzyMatch"+pair+"BOOLEAN", "Whether two texts differ little: by no character below a length of 3, by one below 5, else by two.", func(c *call) (graph.Value, error) {
		most := 2
		switch n := utf8.RuneCountInString(c.text(0)); {
		case n < 3:
			most = 0
		case n < 5:
			most = 1
		}
		n, err := levenshtein(c)
		return graph.BoolValue(n <= most), err
	}),
	ofText("apoc.text.phonetic", "The Soundex codes of the words of a text.", func(s string) string {
		var b strings.Builder
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
			b.WriteString(soundex(w))
		}
		return b.String()
	}),
}

func levenshteinDistance(c *call) (graph.Value, error) {
	n, err := levenshtein(c)
	return graph.IntValue(int64(n)), err
}

// levenshtein computes a row of distances for each character of the first text.
func levenshtein(c *call) (int, error) {
	a, b := []rune(c.text(0)), []rune(c.text(1))
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		if i&0xff == 0xff {
			if err := c.Alive(); err != nil {
				return 0, err
			}
		}
		before := row[0]
		row[0] = i + 1
		for j, y := range b {
			replace := before
			if x != y {
				replace++
			}
			before = row[j+1]
			row[j+1] = min(replace, before+1, row[j]+1)
		}
	}
	return row[len(b)], nil
}

func hamming(c *call) (graph.Value, error) {
	a, b := []rune(c.text(0)), []rune(c.text(1))
	if len(a) != len(b) {
		return null, c.failed("the texts must have the same length, have %d and %d characters", len(a), len(b))
	}
	n := int64(0)
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return graph.IntValue(n), nil
}

// jaroWinkler is the Jaro similarity of two texts, raised from 0.7 on by a tenth for each of the first four characters that they share.
func jaroWinkler(c *call, a, b []rune) (float64, error) {
	if len(a) == 0 || len(b) == 0 {
		if len(a) == len(b) {
			return 1, nil
		}
		return 0, nil
	}
	reach := max(max(len(a), len(b))/2-1, 0)
	taken := make([]bool, len(b))
	var shared []rune
	for i, x := range a {
		if i&0xff == 0xff {
			if err := c.Alive(); err != nil {
				return 0, err
			}
		}
		for j := max(0, i-reach); j < min(len(b), i+reach+1); j++ {
			if !taken[j] && b[j] == x {
				taken[j], shared = true, append(shared, x)
				break
			}
		}
	}
	if len(shared) == 0 {
		return 0, nil
	}
	moved, k := 0, 0
	for j, t := range taken {
		if t {
			if b[j] != shared[k] {
				moved++
			}
			k++
		}
	}
	m := float64(len(shared))
	s := (m/float64(len(a)) + m/float64(len(b)) + (m-float64(moved/2))/m) / 3
	if s < 0.7 {
		return s, nil
	}
	prefix := 0
	for prefix < min(4, len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	return s + 0.1*float64(prefix)*(1-s), nil
}

// sorensenDice compares the pairs of neighbouring characters in the words of two texts, in lower case.
func sorensenDice(c *call) (graph.Value, error) {
	counts, all := map[[2]rune]int{}, 0
	pairs := func(s string, f func([2]rune)) {
		for w := range strings.FieldsSeq(strings.ToLower(s)) {
			r := []rune(w)
			for i := 1; i < len(r); i++ {
				all++
				f([2]rune{r[i-1], r[i]})
			}
		}
	}
	pairs(c.text(0), func(p [2]rune) { counts[p]++ })
	shared := 0
	pairs(c.text(1), func(p [2]rune) {
		if counts[p] > 0 {
			counts[p]--
			shared++
		}
	})
	if all == 0 {
		return graph.FloatValue(0), nil
	}
	return graph.FloatValue(2 * float64(shared) / float64(all)), nil
}

// soundexDigits are the digits of the letters from A on. A vowel, 0, parts equal digits; H and W do not.
const soundexDigits = "01230120022455012623010202"

// soundex is the code of a word by the rules of American archives.
func soundex(word string) string {
	var code []byte
	last := byte('0')
	for _, r := range strings.ToUpper(clean(word)) {
		if r < 'A' || r > 'Z' {
			continue
		}
		d := soundexDigits[r-'A']
		switch {
		case len(code) == 0:
			code = append(code, byte(r))
		case r == 'H' || r == 'W':
			continue
		case d != '0' && d != last && len(code) < 4:
			code = append(code, d)
		}
		last = d
	}
	if len(code) == 0 {
		return ""
	}
	return string(code) + strings.Repeat("0", 4-len(code))
}
