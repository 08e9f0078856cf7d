package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/hopgate/hopgate/internal/graph"
)

// OIDC configures the validation of JSON Web Tokens (OpenID Connect Core 1.0, section 3.1.3.7).
type OIDC struct {
	Issuer   string // the accepted issuer; its keys are found by discovery
	Audience string // the required audience
	Claim    string // the claim that lists roles: operations, fetcher, reader, writer, admin, a custom role, or GRAPH:ROLE
}

// verifier validates tokens by the keys of their issuer.
type verifier struct {
	opt    OIDC
	issuer issuer
}

// identity validates a token and returns its identity.
func (v *verifier) identity(ctx context.Context, token string) (*Identity, error) {
	k, err := v.issuer.newer(ctx, nil)
	if err != nil {
		return nil, err
	}
	for {
		s := &signature{keys: k}
		check := oidc.NewVerifier(v.opt.Issuer, s, &oidc.Config{ClientID: v.opt.Audience, SupportedSigningAlgs: k.algs})
		t, err := check.Verify(ctx, token)
		if err == nil {
			id, err := v.describe(t)
			if err != nil {
				return nil, unfit(err)
			}
			return id, nil
		}
		if !s.unknown {
			return nil, unfit(err)
		}
		last := k // the issuer may have new keys
		if k, err = v.issuer.newer(ctx, last); err != nil {
			return nil, err
		}
		if k == last {
			return nil, unfit(errors.New("no known key of the issuer has signed it"))
		}
	}
}

func unfit(err error) error { return graph.Unauthenticated("the token is not good: " + err.Error()) }

// describe returns the identity of a valid token.
func (v *verifier) describe(t *oidc.IDToken) (*Identity, error) {
	if t.Subject == "" {
		return nil, errors.New("it has no claim sub, which names its caller")
	}
	var all map[string]json.RawMessage
	if err := t.Claims(&all); err != nil {
		return nil, err
	}
	claims, err := claimsOf(all)
	if err != nil {
		return nil, err
	}
	id := &Identity{Name: t.Subject, Issuer: v.opt.Issuer, Graph: map[string]Role{}, Expires: t.Expiry, Claims: claims}
	id.giveAll(claims[v.opt.Claim])
	if id.highest() == None && len(id.Roles)+len(id.GraphRoles) == 0 {
		return nil, fmt.Errorf("the claim %s gives %s no role", v.opt.Claim, t.Subject)
	}
	return id, nil
}

// giveAll adds the roles of a list.
func (id *Identity) giveAll(roles graph.Value) {
	for _, r := range roles.List() {
		if r.Kind() == graph.String {
			id.give(r.Str())
		}
	}
}

// give adds a role of a JSON Web Token: a name, or GRAPH:NAME. A name that is not built in is that of a custom role.
func (id *Identity) give(s string) {
	where, name, scoped := strings.Cut(s, ":")
	if !scoped {
		name = where
	}
	r, err := ParseRole(name)
	switch {
	case name == "":
	case err == nil && scoped:
		id.Graph[where] = max(id.Graph[where], r)
	case err == nil:
		id.Every = max(id.Every, r)
	case !scoped:
		id.Roles = append(id.Roles, name)
	default:
		if id.GraphRoles == nil {
			id.GraphRoles = map[string][]string{}
		}
		id.GraphRoles[where] = append(id.GraphRoles[where], name)
	}
}
