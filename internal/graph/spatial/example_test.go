package spatial_test

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/spatial"
)

// An index finds the points near another by the spans that cover the area. Spans may hold further points, so the reader computes the
// distance of each.
func ExampleNear() {
	centre, err := graph.MakePoint(graph.WGS84, 12.57, 55.68)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, coordinates := range [][]float64{{12.58, 55.69}, {18.07, 59.33}} {
		p, err := graph.MakePoint(graph.WGS84, coordinates...)
		if err != nil {
			fmt.Println(err)
			return
		}
		covered := false
		for _, s := range spatial.Near(&centre, 2000) {
			covered = covered || s.Lo <= spatial.Place(&p) && spatial.Place(&p) <= s.Hi
		}
		metres, ok := spatial.Distance(&centre, &p)
		fmt.Printf("%v %.0f km %v\n", covered, metres/1000, ok)
	}
	// Output:
	// true 1 km true
	// false 522 km true
}
