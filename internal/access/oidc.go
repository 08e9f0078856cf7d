package access

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
)

// OIDC configures the validation of JSON Web Tokens (OpenID Connect Core 1.0, section 3.1.3.7).
type OIDC struct {
	Issuer   string // the accepted issuer; its keys are found by discovery
	Audience string // the required audience
	Claim    string // the claim that lists roles: fetcher, reader, writer, admin, or GRAPH:ROLE
}

// verifier validates tokens. It fetches the issuer's keys for the first token, and again after a failure.
type verifier struct {
	opt OIDC
	mu  sync.Mutex
	v   *oidc.IDTokenVerifier
}

func (v *verifier) get(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.v == nil {
		// The provider keeps the context for later key requests, so it must outlive this request.
		p, err := oidc.NewProvider(context.WithoutCancel(ctx), v.opt.Issuer)
		if err != nil {
			return nil, err
		}
		v.v = p.Verifier(&oidc.Config{ClientID: v.opt.Audience})
	}
	return v.v, nil
}

// identity validates a token and returns its identity.
func (v *verifier) identity(ctx context.Context, token string) (*Identity, error) {
	check, err := v.get(ctx)
	if err != nil {
		return nil, err
	}
	t, err := check.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return nil, err
	}
	id := &Identity{Name: t.Subject, Issuer: t.Issuer, Graph: map[string]Role{}, Expires: t.Expiry}
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
