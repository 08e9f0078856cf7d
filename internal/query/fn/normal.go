package fn

import (
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/hopgate/hopgate/internal/graph"
)

// normalForms are Unicode's normal forms by name (Unicode Standard Annex 15).
var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

var normalFunctions = []Function{
	{
		Name: "cypher.hasLabels", MinArgs: 3, MaxArgs: 3, Deterministic: true, Eval: hasLabels,
		Internal: true, Result: Boolean | Null,
		Signature:   "cypher.hasLabels(labels :: LIST<STRING>, names :: STRING | LIST<STRING>, any :: BOOLEAN) :: BOOLEAN",
		Description: "Whether all, or any, of some names are among the labels.",
	},
	{
		Name: "normalize", MinArgs: 1, MaxArgs: 2, Deterministic: true,
		Result:      String | Null,
		Signature:   "normalize(text :: STRING [, form :: NFC | NFD | NFKC | NFKD]) :: STRING",
		Description: "The string in a Unicode normal form, NFC if none is named.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			s, err := textArg("normalize", args[0])
			if err != nil {
				return null, err
			}
			form := norm.NFC
			if len(args) == 2 {
				if form, err = normalForm(args[1]); err != nil {
					return null, err
				}
			}
			return graph.StringValue(form.String(s)), nil
		}),
	},
	{
		// The operator IS NORMALIZED: null for values other than strings.
		Name: "cypher.isNormalized", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Internal: true, Result: Boolean | Null,
		Signature:   "cypher.isNormalized(value :: ANY, form :: STRING) :: BOOLEAN",
		Description: "Whether a string is in a Unicode normal form.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.String {
				return null, nil
			}
			form, err := normalForm(args[1])
			if err != nil {
				return null, err
			}
			return graph.BoolValue(form.IsNormalString(args[0].Str())), nil
		},
	},
}

// Names returns the labels or types that a value names: a string, or a list of strings.
func Names(v graph.Value) ([]string, error) {
	one := [1]graph.Value{v}
	vs := one[:]
	if v.Kind() == graph.List {
		vs = v.List()
	}
	names := make([]string, 0, len(vs))
	for _, v := range vs {
		if v.Kind() != graph.String || v.Str() == "" {
			return nil, badArgument("$", v, "labels and types: a String that is not empty, or a list of them")
		}
		names = append(names, v.Str())
	}
	return names, nil
}

// hasLabels is x:$all(names) and x:$any(names).
func hasLabels(_ *Context, args []graph.Value) (graph.Value, error) {
	if args[0].IsNull() {
		return null, nil
	}
	names, err := Names(args[1])
	if err != nil {
		return null, err
	}
	one := args[2].Bool()
	for _, n := range names {
		if slices.ContainsFunc(args[0].List(), func(l graph.Value) bool { return l.Str() == n }) == one {
			return graph.BoolValue(one), nil
		}
	}
	return graph.BoolValue(!one), nil
}

func normalForm(v graph.Value) (norm.Form, error) {
	name, err := textArg("normalize", v)
	if err != nil {
		return 0, err
	}
	form, ok := normalForms[name]
	if !ok {
		return 0, badArgument("normalize", v, "NFC, NFD, NFKC or NFKD")
	}
	return form, nil
}
