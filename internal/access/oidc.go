package access

import (
	"context"
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
	Claim    string // the claim that lists roles: fetcher, reader, writer, admin, or GRAPH:ROLE
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
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return nil, err
	}
	id := &Identity{Name: t.Subject, Issuer: v.opt.Issuer, Graph: map[string]Role{}, Expires: t.Expiry}
	list, _ := claims[v.opt.Claim].([]any)
	for _, c := range list {
		s, _ := c.(string)
		where, name, scoped := strings.Cut(s, ":")
		if !scoped {
			name = where
		}
		r, err := ParseRole(name)
		if err != nil {
			continue // a role of another application
		}
		if scoped {
			id.Graph[where] = max(id.Graph[where], r)
		} else {
			id.Every = max(id.Every, r)
		}
	}
	if id.highest() == None {
		return nil, fmt.Errorf("the claim %s gives %s no role", v.opt.Claim, t.Subject)
	}
	return id, nil
}
