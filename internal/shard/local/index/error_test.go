package index

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

func TestFormatValue(t *testing.T) {
	for _, x := range []struct {
		v    graph.Value
		want string
	}{
		{graph.DateValue(0), "1970-01-01"},
		{graph.DurationValue(temporal.Duration{Days: 3}), "P3D"},
		{graph.ListValue([]graph.Value{graph.IntValue(1), graph.StringValue("a\""), graph.ListValue(nil)}), `[1, "a\"", []]`},
		{graph.StringValue(strings.Repeat("x", 99) + "ä"), `"` + strings.Repeat("x", 99) + `…"`},
	} {
		require.Equal(t, x.want, FormatValue(x.v))
	}
}
