package packstream_test

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

// Encode a list of two values as Bolt sends it, and decode it again.
func ExampleForm_Append() {
	form := packstream.Form{ElementIDs: true, UTC: true}
	message := form.Append(nil, graph.ListValue([]graph.Value{graph.IntValue(1), graph.StringValue("a")}))
	fmt.Printf("% x\n", message)

	d := packstream.NewDecoder(form, message)
	v, err := d.Value()
	fmt.Println(v.List()[0].Int(), v.List()[1].Str(), d.Left(), err)
	// Output:
	// 92 01 81 61
	// 1 a 0 <nil>
}
