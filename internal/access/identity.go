package access

import (
	"context"
	"fmt"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// Role is a permission level in a graph; a higher one includes those below it.
type Role uint8

// The roles.
const (
	None    Role = iota
	Fetcher      // send JSON-array fetches, subject to the access rules of fetches
	Reader       // read data and schema
	Writer       // change data and schema
	Admin        // create and drop graphs, end requests of others, back up, repair, profile
)

var roleNames = [...]string{None: "none", Fetcher: "fetcher", Reader: "reader", Writer: "writer", Admin: "admin"}

// String returns the role's name.
func (r Role) String() string { return roleNames[r] }

// ParseRole parses the name of a role other than None.
func ParseRole(name string) (Role, error) {
	for r := Fetcher; r <= Admin; r++ {
		if roleNames[r] == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("must be fetcher, reader, writer or admin, is %q", name)
}

// Identity is an authenticated caller.
type Identity struct {
	Name  string
	Every Role            // role in all graphs
	Graph map[string]Role // roles in single graphs, if above Every
	// Limits are the caller's own; nil means the common limits.
	Limits *Limits
	// Expires is when the token expires, or the zero time.
	Expires time.Time
}

// In returns the caller's role in a graph.
func (id *Identity) In(graphName string) Role { return max(id.Every, id.Graph[graphName]) }

// highest returns the caller's highest role in any graph.
func (id *Identity) highest() Role {
	r := id.Every
	for _, other := range id.Graph {
		r = max(r, other)
	}
	return r
}

type contextKey struct{}

// WithIdentity sets the caller of a request.
func WithIdentity(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// Caller returns the caller of a request, or nil without authentication: then everything is permitted.
func Caller(ctx context.Context) *Identity {
	id, _ := ctx.Value(contextKey{}).(*Identity)
	return id
}

// Name returns the caller's name, or "" without authentication.
func Name(ctx context.Context) string {
	if id := Caller(ctx); id != nil {
		return id.Name
	}
	return ""
}

// Check returns an error unless the caller has a role in a graph.
func Check(ctx context.Context, graphName string, need Role) error {
	id := Caller(ctx)
	if id == nil || id.In(graphName) >= need {
		return nil
	}
	return denied(id, need, fmt.Sprintf("the graph %q", graphName))
}

// OnlyFetches reports whether the caller may only send fetches in a graph.
func OnlyFetches(ctx context.Context, graphName string) bool {
	id := Caller(ctx)
	return id != nil && id.In(graphName) == Fetcher
}

// CheckEvery returns an error unless the caller has a role in all graphs.
func CheckEvery(ctx context.Context, need Role) error {
	id := Caller(ctx)
	if id == nil || id.Every >= need {
		return nil
	}
	return denied(id, need, "all graphs")
}

func denied(id *Identity, need Role, where string) error {
	return graph.Forbidden(graph.PhaseRuntime, "Forbidden", "%s lacks the role %s in %s", id.Name, need, where)
}
