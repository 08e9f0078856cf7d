package access

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
)

// As has an admin of a graph ask in the place of the caller whom claims describe, a JSON object as in a JSON Web Token: sub is the caller's
// name, roles lists its roles. The caller has them in this graph alone, as long as the admin has its own.
func As(ctx context.Context, graphName, claims string) (context.Context, error) {
	if err := Check(ctx, graphName, Admin); err != nil {
		return nil, err
	}
	bad := func(err error) error {
		return graph.RuntimeError("ArgumentError", "InvalidClaims", "as_claims: %v", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(claims), &all); err != nil {
		return nil, bad(fmt.Errorf("must be a JSON object: %w", err))
	}
	values, err := claimsOf(all)
	if err != nil {
		return nil, bad(err)
	}
	given := &Identity{Graph: map[string]Role{}}
	given.giveAll(values["roles"])
	id := &Identity{Name: "unnamed", Claims: values, Graph: map[string]Role{graphName: given.In(graphName)}}
	if name := values["sub"]; name.Kind() == graph.String {
		id.Name = name.Str()
	}
	if roles := given.RolesIn(graphName); len(roles) > 0 {
		id.GraphRoles = map[string][]string{graphName: roles}
	}
	return WithGrant(ctx, &Grant{id: id, by: Granted(ctx), in: graphName, need: Admin}), nil
}
