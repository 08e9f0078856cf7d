package access

import (
	"context"
	"math/rand/v2"
	"strconv"
)

type requestKey struct{}

// maxRequestID is how long an id may be that a client gives its request.
const maxRequestID = 64

// WithRequest gives a context that knows the id of its request: asked, if that can be one, or else a new one, which is
// given too.
func WithRequest(ctx context.Context, asked string) (with context.Context, id string) {
	if id = asked; !isRequestID(asked) {
		id = strconv.FormatUint(rand.Uint64(), 36)
	}
	return context.WithValue(ctx, requestKey{}, id), id
}

// Request is the id of a context's request, or "".
func Request(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// isRequestID reports whether a text may stand in headers and logs as it is.
func isRequestID(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.' && c != ':' {
			return false
		}
	}
	return s != "" && len(s) <= maxRequestID
}
