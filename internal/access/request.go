package access

import (
	"context"
	"math/rand/v2"
	"strconv"
)

type requestKey struct{}

// maxRequestID bounds the length of a client's request id.
const maxRequestID = 64

// WithRequest returns a context with the id of its request, and the id: asked if it is valid, otherwise a new one.
func WithRequest(ctx context.Context, asked string) (with context.Context, id string) {
	if id = asked; !isRequestID(asked) {
		id = strconv.FormatUint(rand.Uint64(), 36)
	}
	return &requestContext{ctx, id}, id
}

// requestContext has the id of its request. It is its own value, so that the id needs no memory besides.
type requestContext struct {
	context.Context //nolint:containedctx // it is one
	id              string
}

// Value implements context.Context.
func (c *requestContext) Value(key any) any {
	if key == (requestKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Request returns the request id of a context, or "".
func Request(ctx context.Context) string {
	if c, ok := ctx.Value(requestKey{}).(*requestContext); ok {
		return c.id
	}
	return ""
}

// isRequestID reports whether text is safe in headers and logs.
func isRequestID(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.' && c != ':' {
			return false
		}
	}
	return s != "" && len(s) <= maxRequestID
}
