package keys_test

import (
	"bytes"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Index keys are in the order of their values, across integers and floats.
func ExampleAppendOrdered() {
	small, _ := keys.AppendOrdered(nil, graph.IntValue(-1))
	half, _ := keys.AppendOrdered(nil, graph.FloatValue(0.5))
	one, _ := keys.AppendOrdered(nil, graph.IntValue(1))
	alsoOne, _ := keys.AppendOrdered(nil, graph.FloatValue(1))
	fmt.Println(bytes.Compare(small, half), bytes.Compare(half, one), bytes.Equal(one, alsoOne))
	// Output: -1 -1 true
}

// A key of the adjacency names the type, the direction and the vertex; List reads them back.
func ExampleAppendList() {
	key := keys.AppendList(nil, graph.TypeID(7), graph.Out, 42)
	fmt.Printf("%x\n", key)
	fmt.Println(keys.List(key))
	// Output:
	// 10000000070000000000002a
	// 7 out 42
}
