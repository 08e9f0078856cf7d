package mapping_test

import (
	"fmt"
	"strings"

	"github.com/hopgate/hopgate/internal/loader/mapping"
)

// Parse a mapping, and print the error of a misspelt key.
func ExampleParse() {
	m, err := mapping.Parse("people.yaml", []byte(`
version: 1
inputs:
  - path: person.csv
    vertices:
      - labels: [Person]
        id: id
        properties:
          name: {column: name}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(m.Inputs), len(m.Spaces))

	_, err = mapping.Parse("people.yaml", []byte("version: 1\ninputs:\n  - pth: person.csv\n"))
	fault, _, _ := strings.Cut(err.Error(), ";")
	fmt.Println(fault)
	// Output:
	// 1 1
	// people.yaml:3:5: inputs[0].pth: unknown key
}
