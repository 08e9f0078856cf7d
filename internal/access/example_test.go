package access_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/hopgate/hopgate/internal/access"
)

// Generate a token, authenticate a request with it, and check its caller's permissions.
func ExampleAuthenticator() {
	token, entry := access.NewToken("ann", access.Reader)
	f, err := os.CreateTemp("", "tokens-*.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	fmt.Fprintf(f, "tokens:\n%s", entry)
	if err := f.Close(); err != nil {
		fmt.Println(err)
		return
	}
	auth, err := access.New(access.Options{TokensFile: f.Name()}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, err := auth.Authenticate(context.Background(), "Bearer "+token)
	fmt.Println(access.Name(ctx), err)
	fmt.Println(access.Check(ctx, "people", access.Reader))
	fmt.Println(access.Check(ctx, "people", access.Writer))
	// Output:
	// ann <nil>
	// <nil>
	// ann lacks the role writer in the graph "people"
}
