package cypher

import (
	"strings"
	"testing"
)

type procedures []Signature

func (p procedures) find(name string) (Signature, bool) {
	for _, s := range p {
		if s.Name == name {
			return s, true
		}
	}
	return Signature{}, false
}

// signature reads name(a :: TYPE, …) :: (b :: TYPE, …).
func signature(t testing.TB, text string) Signature {
	t.Helper()
	name, rest, ok := strings.Cut(text, "(")
	params, results, ok2 := strings.Cut(rest, ") :: (")
	if !ok || !ok2 {
		t.Fatalf("not a signature: %s", text)
	}
	return Signature{Name: name, Params: fields(params), Results: fields(strings.TrimSuffix(results, ")"))}
}

func fields(list string) []Field {
	var out []Field
	for f := range strings.SplitSeq(list, ",") {
		if name, typ, ok := strings.Cut(f, " :: "); ok {
			out = append(out, Field{Name: strings.TrimSpace(name), Type: strings.TrimSpace(typ)})
		}
	}
	return out
}
