package access

import (
	"context"
	"fmt"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// Role is what somebody may do in a graph; a higher one includes those below it.
type Role uint8

// The roles.
const (
	None    Role = iota
	Fetcher      // send JSON-array fetches, which the access rules of fetches judge
	Reader       // read data and schema
	Writer       // change data and schema
	Admin        // make and drop graphs, end what others run, back up, mend, profile
)

var roleNames = [...]string{None: "none", Fetcher: "fetcher", Reader: "reader", Writer: "writer", Admin: "admin"}

// String gives the role's name.
func (r Role) String() string { return roleNames[r] }

// ParseRole reads the name of a role other than None.
func ParseRole(name string) (Role, error) {
	for r := Fetcher; r <= Admin; r++ {
		if roleNames[r] == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("must be fetcher, reader, writer or admin, is %q", name)
}

// Identity is a caller whose token was good.
type Identity struct {
	Name  string
	Every Role            // in all graphs
	Graph map[string]Role // in some graphs, where it is above Every
	// Limits are the caller's own; nil: those of all callers.
	Limits *Limits
	// Expires is when the token ends, or the zero time.
	Expires time.Time
}

// In is the caller's role in a graph.
func (id *Identity) In(graphName string) Role { return max(id.Every, id.Graph[graphName]) }

// highest is the caller's highest role in any graph.
func (id *Identity) highest() Role {
	r := id.Every
	for _, other := range id.Graph {
		r = max(r, other)
	}
	return r
}

type contextKey struct{}

// WithIdentity makes a request that of a caller.
func WithIdentity(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// Caller gives who makes a request, or nil where nobody is asked who they are: then all is allowed.
func Caller(ctx context.Context) *Identity {
	id, _ := ctx.Value(contextKey{}).(*Identity)
	return id
}

// Name is the caller's name, "" for nobody in particular.
func Name(ctx context.Context) string {
	if id := Caller(ctx); id != nil {
		return id.Name
	}
	return ""
}

// Check says why the caller may not do in a graph what takes a role, or nil.
func Check(ctx context.Context, graphName string, need Role) error {
	id := Caller(ctx)
	if id == nil || id.In(graphName) >= need {
		return nil
	}
	return denied(id, need, fmt.Sprintf("the graph %q", graphName))
}

// OnlyFetches reports whether the caller may do nothing in a graph but send fetches.
func OnlyFetches(ctx context.Context, graphName string) bool {
	id := Caller(ctx)
	return id != nil && id.In(graphName) == Fetcher
}

// CheckEvery says why the caller may not do what takes a role in all graphs, or nil.
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
