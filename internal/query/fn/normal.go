package fn

import (
	"golang.org/x/text/unicode/norm"

	"github.com/hopgate/hopgate/internal/graph"
)

// normalForms are Unicode's normal forms by name (Unicode Standard Annex 15).
var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

var normalFunctions = []Function{
	{
		Name: "normalize", MinArgs: 1, MaxArgs: 2, Deterministic: true,
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
		// The operator IS NORMALIZED: null for what is no string.
		Name: "cypher.isNormalized", MinArgs: 2, MaxArgs: 2, Deterministic: true,
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
