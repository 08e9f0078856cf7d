package access

import (
	"context"
	"maps"

	lru "github.com/hashicorp/golang-lru/v2"
)

// mostRaised is how many callers with raised roles are kept.
const mostRaised = 1024

type raisedKey struct {
	id    *Identity
	graph string
	role  Role
}

// raised keeps the identities that Raise made of late, since what rules permit is kept by identity.
var raised = newRaised()

func newRaised() *lru.Cache[raisedKey, *Identity] {
	c, err := lru.New[raisedKey, *Identity](mostRaised)
	if err != nil {
		panic(err) // the size is positive
	}
	return c
}

// Raise gives the caller of a trusted operation at least a role in a graph, as long as it has the role Operations there. A caller without a
// built-in role keeps to the access rules, and its grant is as it was.
func Raise(ctx context.Context, graphName string, to Role) (context.Context, *Grant, error) {
	g := Granted(ctx)
	id, err := g.Identity()
	if id == nil || err != nil || id.In(graphName) >= to || id.In(graphName) < Operations {
		return ctx, g, err
	}
	key := raisedKey{id, graphName, to}
	up, ok := raised.Get(key)
	if !ok {
		more := *id
		more.Graph = maps.Clone(id.Graph)
		if more.Graph == nil {
			more.Graph = map[string]Role{}
		}
		more.Graph[graphName] = to
		up = &more
		raised.Add(key, up)
	}
	by := &Grant{id: up, by: g, in: graphName, need: Operations}
	return WithGrant(ctx, by), by, nil
}
