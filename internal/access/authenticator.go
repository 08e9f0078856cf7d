package access

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Options configure authentication. Without a tokens file and an issuer, no caller needs a token.
type Options struct {
	TokensFile string // YAML file of hashed tokens
	OIDC       OIDC
	Whole      Limits // the limits of the whole server, to which percentages in limits refer
}

// Authenticator identifies callers by their tokens. A nil one requires no tokens.
type Authenticator struct {
	tokens *watched[tokens]
	oidc   *verifier
}

// New returns an authenticator, or nil if no caller needs a token.
func New(opt Options, log *slog.Logger) (*Authenticator, error) {
	if opt.TokensFile == "" && opt.OIDC.Issuer == "" {
		return nil, nil
	}
	a := &Authenticator{}
	if opt.TokensFile != "" {
		read := func() (*tokens, error) { return readTokens(opt.TokensFile, opt.Whole) }
		var err error
		if a.tokens, err = watch(log, read, opt.TokensFile); err != nil {
			return nil, err
		}
	}
	if opt.OIDC.Issuer != "" {
		a.oidc = &verifier{opt: opt.OIDC, issuer: issuer{url: opt.OIDC.Issuer}}
	}
	return a, nil
}

// Authenticate adds the identity of the caller in the Authorization header to a request's context.
func (a *Authenticator) Authenticate(ctx context.Context, header string) (context.Context, error) {
	if a == nil {
		return ctx, nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if header == "" {
		return ctx, graph.Unauthenticated("the request needs the header Authorization: Bearer TOKEN")
	}
	var g *Grant
	var err error
	switch {
	case strings.EqualFold(scheme, "Bearer") && token != "":
		g, err = a.Token(ctx, token)
	case strings.EqualFold(scheme, "Basic"):
		name, password, ok := Basic(header)
		if !ok {
			return ctx, graph.Unauthenticated("the header Authorization: Basic must hold NAME:TOKEN in base64")
		}
		g, err = a.Password(ctx, name, password)
	default:
		return ctx, graph.Unauthenticated("the header Authorization must be of the form Bearer TOKEN")
	}
	if err != nil {
		return ctx, err
	}
	return WithGrant(ctx, g), nil
}

// Basic returns the name and the password, which is a token, of a header Authorization: Basic.
func Basic(header string) (name, password string, ok bool) {
	scheme, text, _ := strings.Cut(header, " ")
	// Some clients omit the padding. Text that is not base64 has no colon.
	plain, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(text), "="))
	name, password, ok = strings.Cut(string(plain), ":")
	return name, password, ok && strings.EqualFold(scheme, "Basic")
}

// Token returns the grant of a token.
func (a *Authenticator) Token(ctx context.Context, token string) (*Grant, error) {
	if a.tokens != nil {
		// The look-up's timing depends only on the hash, which does not reveal the token.
		key := sha256.Sum256([]byte(token))
		e := a.tokens.get().byHash[key]
		if e == nil && !a.isJWT(token) {
			e = a.tokens.latest().byHash[key] // it may be new
		}
		if e != nil {
			g := &Grant{id: e.id, auth: a, key: key}
			g.now.Store(e)
			return g, nil
		}
	}
	if a.isJWT(token) {
		id, err := a.oidc.identity(ctx, token)
		if err != nil {
			return nil, err
		}
		return &Grant{id: id}, nil
	}
	return nil, graph.Unauthenticated("the token is not known")
}

// anyName is the default user name of Neo4j's clients.
const anyName = "neo4j"

// Password returns the grant of a token used as a password, together with its own name or anyName.
func (a *Authenticator) Password(ctx context.Context, name, token string) (*Grant, error) {
	g, err := a.Token(ctx, token)
	if err == nil && name != anyName && name != g.id.Name {
		return nil, graph.Unauthenticated("the token is not that of the user")
	}
	return g, err
}

// isJWT reports whether a token must be validated with its issuer's keys.
func (a *Authenticator) isJWT(token string) bool {
	return a.oidc != nil && strings.Count(token, ".") == 2
}
