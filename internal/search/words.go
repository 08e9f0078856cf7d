package search

import (
	"github.com/blevesearch/bleve/v2/analysis"
)

// Kinds of ASCII characters, as Unicode's rules for words (UAX #29) see them.
const (
	apart   = iota // stands between words
	inWord         // a letter or a digit
	perhaps        // joins words if it stands between their letters or digits
	other          // what words does not split
)

var ascii = func() (t [256]byte) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			t[c] = inWord
		case c == ' ' || c == '\n' || c == '\t':
			t[c] = apart
		case c < ' ' || c >= 0x7f || c == '_':
			t[c] = other
		case c == '\'' || c == '.' || c == ',' || c == ':' || c == ';' || c == '"':
			t[c] = perhaps
		}
	}
	return t
}()

// plainText reports whether the words of a text are its runs of ASCII letters and digits.
func plainText(text string) bool {
	for i := range len(text) {
		switch ascii[text[i]] {
		case other:
			return false
		case perhaps:
			if i > 0 && ascii[text[i-1]] == inWord && i+1 < len(text) && ascii[text[i+1]] == inWord {
				return false
			}
		}
	}
	return true
}

// eachWord calls f with the words of a plain text in lower case, in a buffer that it returns for the next call, and their positions.
func eachWord(text string, buf []byte, f func(word []byte, pos int)) []byte {
	pos := 0
	for i := 0; i < len(text); {
		if ascii[text[i]] != inWord {
			i++
			continue
		}
		buf = buf[:0]
		for ; i < len(text) && ascii[text[i]] == inWord; i++ {
			c := text[i]
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			buf = append(buf, c)
		}
		pos++
		f(buf, pos)
	}
	return buf
}

// each calls f with the terms of a text, and returns a buffer as eachWord does.
func (a *Analyzer) each(text string, buf []byte, f func(term []byte, pos int)) []byte {
	if a.words && plainText(text) {
		return eachWord(text, buf, func(word []byte, pos int) {
			if len(word) <= maxTerm && !a.stops[string(word)] {
				f(word, pos)
			}
		})
	}
	for _, t := range a.tokens(text) {
		f(t.Term, t.Position)
	}
	return buf
}

// tokens splits a text by bleve's rules.
func (a *Analyzer) tokens(text string) analysis.TokenStream { return a.split.Analyze([]byte(text)) }
