package wire

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

// Lists and maps of any length keep their elements, and what they take is counted before it is allocated: while it is joined, a long list
// twice.
func TestLongLists(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, valuesAtOnce - 1, valuesAtOnce, valuesAtOnce + 1, 3 * valuesAtOnce, 50_000} {
		var list, object []string
		for i := range n {
			list = append(list, strconv.Itoa(i))
			object = append(object, fmt.Sprintf(`"k%d":%d`, i, i))
		}
		text := []byte("[" + strings.Join(list, ",") + "]")
		v, err := DecodeValue(text, nil)
		require.NoError(t, err)
		require.Len(t, v.List(), n)
		m, err := DecodeValue([]byte("{"+strings.Join(object, ",")+"}"), nil)
		require.NoError(t, err)
		require.Len(t, m.Map(), n)
		for i := range n {
			require.Equal(t, graph.IntValue(int64(i)), v.List()[i])
			require.Equal(t, graph.MapEntry{Key: fmt.Sprintf("k%d", i), Value: graph.IntValue(int64(i))}, m.Map()[i])
		}
		if n < 3*valuesAtOnce {
			continue
		}
		size := int64(n) * int64(unsafe.Sizeof(graph.Value{}))
		_, err = DecodeValue(text, memory.NewCharge(t.Context(), nil, 2*size-1))
		require.ErrorContains(t, err, "query-memory")
		_, err = DecodeValue(text, memory.NewCharge(t.Context(), nil, 2*size+valuesAtOnce*int64(unsafe.Sizeof(graph.Value{}))))
		require.NoError(t, err)
	}
}
