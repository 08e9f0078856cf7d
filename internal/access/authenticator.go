package access

import (
	"context"
	"encoding/base64"
	"log/slog"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// Options say who is asked for a token. Without a file and an issuer nobody is.
type Options struct {
	TokensFile string // YAML file of hashed tokens
	OIDC       OIDC
	Whole      Limits // what the whole server may have, of which limits may name percentages
}

// Authenticator tells callers by their tokens. A nil one asks nobody.
type Authenticator struct {
	tokens *watched[tokens]
	oidc   *verifier
}

// New makes an authenticator, or nil if nobody is asked for a token.
func New(opt Options, log *slog.Logger) (*Authenticator, error) {
	if opt.TokensFile == "" && opt.OIDC.Issuer == "" {
		return nil, nil
	}
	a := &Authenticator{}
	if opt.TokensFile != "" {
		read := func() (*tokens, error) {
			ts, err := readTokens(opt.TokensFile, opt.Whole)
			return &ts, err
		}
		var err error
		if a.tokens, err = watch(log, read, opt.TokensFile); err != nil {
			return nil, err
		}
	}
	if opt.OIDC.Issuer != "" {
		a.oidc = &verifier{opt: opt.OIDC}
	}
	return a, nil
}

// Authenticate gives a request's context the identity of the caller whose Authorization header it came with.
func (a *Authenticator) Authenticate(ctx context.Context, header string) (context.Context, error) {
	if a == nil {
		return ctx, nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if header == "" {
		return ctx, graph.Unauthenticated("the request needs the header Authorization: Bearer TOKEN")
	}
	var id *Identity
	var err error
	switch {
	case strings.EqualFold(scheme, "Bearer") && token != "":
		id, err = a.Token(ctx, token)
	case strings.EqualFold(scheme, "Basic"):
		name, password, ok := Basic(header)
		if !ok {
			return ctx, graph.Unauthenticated("the header Authorization: Basic must hold NAME:TOKEN in base64")
		}
		id, err = a.Password(ctx, name, password)
	default:
		return ctx, graph.Unauthenticated("the header Authorization must be of the form Bearer TOKEN")
	}
	if err != nil {
		return ctx, err
	}
	return WithIdentity(ctx, id), nil
}

// Basic returns the name and the password, which is a token, of a header Authorization: Basic.
func Basic(header string) (name, password string, ok bool) {
	scheme, text, _ := strings.Cut(header, " ")
	// Some clients leave the padding out. What is no base64 has no colon.
	plain, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(text), "="))
	name, password, ok = strings.Cut(string(plain), ":")
	return name, password, ok && strings.EqualFold(scheme, "Basic")
}

// Token gives the identity of a token.
func (a *Authenticator) Token(ctx context.Context, token string) (*Identity, error) {
	if a.tokens != nil {
		id := a.tokens.get().find(token)
		if id == nil && !a.isJWT(token) {
			id = a.tokens.fresh().find(token) // it may have been made just now
		}
		if id != nil {
			return id, nil
		}
	}
	if a.isJWT(token) {
		id, err := a.oidc.identity(ctx, token)
		if err != nil {
			return nil, graph.Unauthenticated("the token is not good: " + err.Error())
		}
		return id, nil
	}
	return nil, graph.Unauthenticated("the token is not known")
}

// anyName is the user name that Neo4j's clients have when they are told none.
const anyName = "neo4j"

// Password gives the identity of a token that stands in the place of a password, beside its own name or anyName.
func (a *Authenticator) Password(ctx context.Context, name, token string) (*Identity, error) {
	id, err := a.Token(ctx, token)
	if err == nil && name != anyName && name != id.Name {
		return nil, graph.Unauthenticated("the token is not that of the user")
	}
	return id, err
}

// Still gives who a token is of that was good when a connection began, or says why it is not any more.
func (a *Authenticator) Still(id *Identity, token string) (*Identity, error) {
	if !id.Expires.IsZero() {
		if time.Now().Before(id.Expires) {
			return id, nil
		}
		err := graph.Unauthenticated("the token's time is over")
		err.Code, err.Detail = "Neo.ClientError.Security.TokenExpired", "TokenExpired"
		return nil, err
	}
	if a.tokens != nil {
		if now := a.tokens.get().find(token); now != nil {
			return now, nil
		}
	}
	return nil, graph.Unauthenticated("the token is not known any more")
}

// isJWT reports whether a token is to be checked by its issuer's keys.
func (a *Authenticator) isJWT(token string) bool {
	return a.oidc != nil && strings.Count(token, ".") == 2
}
