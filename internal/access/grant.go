package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// Subject identifies a caller. Names are unique only within their issuer.
type Subject struct {
	Issuer string // of the JSON Web Token; "" for the tokens file
	Name   string
}

// Grant is what a caller may do by its token. Long requests check it as they go on: it follows the tokens file and ends with its token, at
// most lookAfter later. A nil Grant, without authentication, permits everything.
type Grant struct {
	id   *Identity // at first
	auth *Authenticator
	key  [sha256.Size]byte // of a token in the tokens file, if auth is set
	now  atomic.Pointer[entry]
	// by is the grant that this one lasts as long as, while it has the role need in the graph in: of an admin who asks in the caller's place,
	// or of the caller before Raise; nil if the grant stands by itself.
	by   *Grant
	in   string
	need Role
}

// Identity returns the caller as its token describes it now, or why the token is not valid any more.
func (g *Grant) Identity() (*Identity, error) {
	if g == nil {
		return nil, nil
	}
	if g.by != nil {
		if err := g.by.Check(g.in, g.need); err != nil {
			return nil, err
		}
	}
	if g.auth == nil {
		return g.id, g.id.expired()
	}
	all := g.auth.tokens.get()
	e := g.now.Load()
	if e.of != all {
		if e = all.byHash[g.key]; e == nil {
			return nil, graph.Unauthenticated("the token is not known any more")
		}
		g.now.Store(e)
	}
	return e.id, nil
}

// Check returns an error unless the token is still valid and gives its caller a role in a graph. A caller with custom roles may ask for what
// a writer may: the rules of the graph say what it sees and changes.
func (g *Grant) Check(graphName string, need Role) error {
	id, err := g.Identity()
	if id == nil || err != nil || id.In(graphName) >= need || need <= Writer && id.CustomIn(graphName) {
		return err
	}
	return denied(id, need, fmt.Sprintf("the graph %q", graphName))
}

// Still returns why the token is not valid any more, or nil.
func (g *Grant) Still() error {
	_, err := g.Identity()
	return err
}

// expired returns the error for a token whose time is over, or nil.
func (id *Identity) expired() error {
	if id.Expires.IsZero() || time.Now().Before(id.Expires) {
		return nil
	}
	err := graph.Unauthenticated("the token's time is over")
	err.Code, err.Detail = "Neo.ClientError.Security.TokenExpired", "TokenExpired"
	return err
}

type contextKey struct{}

// WithGrant sets the grant of a request's caller.
func WithGrant(ctx context.Context, g *Grant) context.Context {
	return context.WithValue(ctx, contextKey{}, g)
}

// WithIdentity sets a caller whose grant lasts until the identity expires.
func WithIdentity(ctx context.Context, id *Identity) context.Context {
	return WithGrant(ctx, &Grant{id: id})
}

// Granted returns the grant of a request's caller, or nil without authentication.
func Granted(ctx context.Context) *Grant {
	g, _ := ctx.Value(contextKey{}).(*Grant)
	return g
}

// Caller returns the caller of a request, or nil without authentication: then everything is permitted. One whose token is not valid any more
// has no roles.
func Caller(ctx context.Context) *Identity {
	g := Granted(ctx)
	id, err := g.Identity()
	if err != nil {
		return &Identity{Name: g.id.Name, Issuer: g.id.Issuer}
	}
	return id
}

// Name returns the caller's name, or "" without authentication.
func Name(ctx context.Context) string { return Of(ctx).Name }

// Of returns the caller's subject, which is empty without authentication.
func Of(ctx context.Context) Subject {
	if g := Granted(ctx); g != nil {
		return g.id.Subject()
	}
	return Subject{}
}

// Check returns an error unless the caller has a role in a graph.
func Check(ctx context.Context, graphName string, need Role) error {
	return Granted(ctx).Check(graphName, need)
}

// OnlyFetches reports whether the caller may only send fetches in a graph.
func OnlyFetches(ctx context.Context, graphName string) bool {
	id := Caller(ctx)
	return id != nil && id.In(graphName) == Fetcher
}

// CheckEvery returns an error unless the caller has a role in all graphs.
func CheckEvery(ctx context.Context, need Role) error {
	id, err := Granted(ctx).Identity()
	if id == nil || err != nil || id.Every >= need {
		return err
	}
	return denied(id, need, "all graphs")
}

func denied(id *Identity, need Role, where string) error {
	return graph.Forbidden(graph.PhaseRuntime, "Forbidden", "%s lacks the role %s in %s", id.Name, need, where)
}
