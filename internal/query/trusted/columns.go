package trusted

import (
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// jsonTypes are the JSON types of kinds of values in answers over HTTP, where NaN and infinities are strings.
var jsonTypes = []struct {
	kinds fn.Kinds
	typ   string
}{
	{fn.List, "array"},
	{fn.Boolean, "boolean"},
	{fn.Integer, "integer"},
	{fn.Float, "number"},
	{fn.Map | fn.Node | fn.Relationship, "object"},
	{fn.String | fn.Temporal | fn.Float, "string"},
}

// open are kinds whose form depends on the value.
const open = fn.Path | fn.Point | fn.Vector

// Columns describes the columns of a result by the kinds of values that each may have.
func Columns(names []string, kinds map[string]fn.Kinds) []operation.Column {
	out := make([]operation.Column, len(names))
	for i, name := range names {
		out[i].Name = name
		k, known := kinds[name]
		if !known || k|fn.Null == fn.Any || k&open != 0 {
			continue
		}
		for _, t := range jsonTypes {
			if k&t.kinds != 0 {
				out[i].Types = append(out[i].Types, t.typ)
			}
		}
	}
	return out
}
