package temporal_test

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// Parse two dates, and compute the duration between them in months and days.
func ExampleBetween() {
	from, err := temporal.ParseDate("2024-01-31")
	if err != nil {
		fmt.Println(err)
		return
	}
	to, err := temporal.ParseDate("2024-W10-5")
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := temporal.Between(from.Parts(), to.Parts())
	fmt.Println(to, d, err)
	// Output: 2024-03-08 P1M8D <nil>
}
