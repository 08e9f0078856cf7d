package search

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fa"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
	"github.com/blevesearch/bleve/v2/analysis/lang/hr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pl"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/letter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/single"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/web"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/whitespace"
	"github.com/blevesearch/bleve/v2/registry"

	"github.com/hopgate/hopgate/internal/graph"
)

// Analyzer splits texts, and the words of a query, into terms.
type Analyzer struct {
	Name, Description string
	// StopWords are left out of texts and queries.
	StopWords []string
	// lower says that terms are in lower case, those of wildcards and ranges too, which are not split.
	lower bool
	split analysis.Analyzer
	// words says that terms are the words of Unicode in lower case, without stops.
	words bool
	stops map[string]bool
}

// maxTerm is the most bytes of a term; longer ones are left out.
const maxTerm = 8 << 10

// shortTerms leaves out terms that are too long to be stored.
type shortTerms struct{}

// Filter implements analysis.TokenFilter.
func (shortTerms) Filter(in analysis.TokenStream) analysis.TokenStream {
	return slices.DeleteFunc(in, func(t *analysis.Token) bool { return len(t.Term) > maxTerm })
}

// Analyzers returns all analyzers in the order of their names. It builds them for its caller alone.
func Analyzers() []*Analyzer {
	all := make([]*Analyzer, len(kinds))
	for i := range kinds {
		all[i] = kinds[i].build()
	}
	return all
}

// FindAnalyzer returns an analyzer by its name. Its first call for a name builds the analyzer: those of all languages take 11 MB.
func FindAnalyzer(name string) (*Analyzer, error) {
	i, ok := slices.BinarySearchFunc(kinds, name, func(k kind, name string) int { return strings.Compare(k.name, name) })
	if !ok {
		return nil, graph.RuntimeError("ArgumentError", "UnknownAnalyzer", "there is no analyzer %q; db.index.fulltext.listAvailableAnalyzers() lists them", name)
	}
	return kinds[i].once(), nil
}

// kind is an analyzer that is built when it is needed.
type kind struct {
	name  string
	build func() *Analyzer
	once  func() *Analyzer // builds it once
}

// kinds are sorted by name.
var kinds = newKinds()

// language is an analyzer of a language, with the name of its stop words.
type language struct{ name, of, analyzer, stops string }

var languages = []language{
	{"arabic", "Arabic", ar.AnalyzerName, ar.StopName},
	{"cjk", "Chinese, Japanese and Korean texts, whose terms are pairs of characters", cjk.AnalyzerName, ""},
	{"croatian", "Croatian", hr.AnalyzerName, hr.StopName},
	{"danish", "Danish", da.AnalyzerName, da.StopName},
	{"dutch", "Dutch", nl.AnalyzerName, nl.StopName},
	{"english", "English", en.AnalyzerName, en.StopName},
	{"finnish", "Finnish", fi.AnalyzerName, fi.StopName},
	{"french", "French", fr.AnalyzerName, fr.StopName},
	{"german", "German", de.AnalyzerName, de.StopName},
	{"hindi", "Hindi", hi.AnalyzerName, hi.StopName},
	{"hungarian", "Hungarian", hu.AnalyzerName, hu.StopName},
	{"italian", "Italian", it.AnalyzerName, it.StopName},
	{"norwegian", "Norwegian", no.AnalyzerName, no.StopName},
	{"persian", "Persian", fa.AnalyzerName, fa.StopName},
	{"polish", "Polish", pl.AnalyzerName, pl.StopName},
	{"portuguese", "Portuguese", pt.AnalyzerName, pt.StopName},
	{"romanian", "Romanian", ro.AnalyzerName, ro.StopName},
	{"russian", "Russian", ru.AnalyzerName, ru.StopName},
	{"sorani", "Sorani", ckb.AnalyzerName, ckb.StopName},
	{"spanish", "Spanish", es.AnalyzerName, es.StopName},
	{"swedish", "Swedish", sv.AnalyzerName, sv.StopName},
	{"turkish", "Turkish", tr.AnalyzerName, tr.StopName},
}

func newKinds() []kind {
	var all []kind
	add := func(name string, build func() *Analyzer) {
		all = append(all, kind{name, build, sync.OnceValue(build)})
	}
	plain := func(name, description, by string, filters ...string) {
		add(name, func() *Analyzer { return newPlain(name, description, by, filters) })
	}
	plain("keyword", "The whole text is one term.", single.Name)
	plain("simple", "Terms are runs of letters, in lower case.", letter.Name, lowercase.Name)
	plain("standard", "Terms are words as Unicode separates them, in lower case, without English stop words.", unicode.Name, lowercase.Name, en.StopName)
	plain(graph.DefaultAnalyzer, "Terms are words as Unicode separates them, in lower case.", unicode.Name, lowercase.Name)
	plain("stop", "Terms are runs of letters, in lower case, without English stop words.", letter.Name, lowercase.Name, en.StopName)
	plain("url_or_email", "Like standard-no-stop-words, but web and e-mail addresses are one term each.", web.Name, lowercase.Name)
	plain("whitespace", "Terms are what stands between white space, as it is.", whitespace.Name)
	for _, l := range languages {
		add(l.name, func() *Analyzer { return newLanguage(l) })
	}
	slices.SortFunc(all, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	return all
}

// newPlain builds an analyzer from a tokenizer and filters.
func newPlain(name, description, by string, filters []string) *Analyzer {
	cache := registry.NewCache()
	t, err := cache.TokenizerNamed(by)
	must(err)
	d := &analysis.DefaultAnalyzer{Tokenizer: t}
	a := &Analyzer{Name: name, Description: description, split: d}
	for _, name := range filters {
		f, err := cache.TokenFilterNamed(name)
		must(err)
		d.TokenFilters = append(d.TokenFilters, f)
		a.lower = a.lower || name == lowercase.Name
		if name == en.StopName {
			a.StopWords = stopWords(cache, name)
		}
	}
	d.TokenFilters = append(d.TokenFilters, shortTerms{})
	if a.words = by == unicode.Name; a.words && len(a.StopWords) > 0 {
		a.stops = map[string]bool{}
		for _, w := range a.StopWords {
			a.stops[w] = true
		}
	}
	return a
}

// newLanguage builds the analyzer of a language.
func newLanguage(l language) *Analyzer {
	cache := registry.NewCache()
	named, err := cache.AnalyzerNamed(l.analyzer)
	must(err)
	d := *named.(*analysis.DefaultAnalyzer)
	d.TokenFilters = append(slices.Clone(d.TokenFilters), shortTerms{})
	a := &Analyzer{Name: l.name, Description: "Terms are stems of words, for " + l.of + ".", lower: true, split: &d}
	if l.stops == "" {
		a.Description = "For " + l.of + "."
	} else {
		a.StopWords = stopWords(cache, l.stops)
	}
	return a
}

// stopWords returns the words of a list in order.
func stopWords(cache *registry.Cache, name string) []string {
	m, err := cache.TokenMapNamed(name)
	must(err)
	return slices.Sorted(maps.Keys(m))
}

// must stops the program over parts of analyzers that are linked in by name.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// textTerm is a term of a text with its position among the others.
type textTerm struct {
	text string
	pos  int
}

// terms splits a text.
func (a *Analyzer) terms(text string) []textTerm {
	tokens := a.tokens(text)
	out := make([]textTerm, len(tokens))
	for i, t := range tokens {
		out[i] = textTerm{string(t.Term), t.Position}
	}
	return out
}

// normal returns a term that is not split in the form that terms of texts have.
func (a *Analyzer) normal(text string) string {
	if a.lower {
		return strings.ToLower(text)
	}
	return text
}
