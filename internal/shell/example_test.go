package shell_test

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/shell"
)

// Split a script into statements and commands of the shell. The last statement lacks its semicolon.
func ExampleSplit() {
	steps, rest := shell.Split(":use people\nRETURN 'a;b' AS x;\nRETURN 2")
	for _, s := range steps {
		fmt.Println(s.At.Line, s.Command, s.Text)
	}
	fmt.Println(rest.Text)
	// Output:
	// 1 true :use people
	// 2 false RETURN 'a;b' AS x
	// RETURN 2
}
