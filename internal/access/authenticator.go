package access

import (
	"context"
	"log/slog"
	"strings"
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
		return ctx, unauthorized("the request needs the header Authorization: Bearer TOKEN")
	}
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return ctx, unauthorized("the header Authorization must be of the form Bearer TOKEN")
	}
	if a.tokens != nil {
		id := a.tokens.get().find(token)
		if id == nil && !a.isJWT(token) {
			id = a.tokens.fresh().find(token) // it may have been made just now
		}
		if id != nil {
			return WithIdentity(ctx, id), nil
		}
	}
	if a.isJWT(token) {
		id, err := a.oidc.identity(ctx, token)
		if err != nil {
			return ctx, unauthorized("the token is not good: " + err.Error())
		}
		return WithIdentity(ctx, id), nil
	}
	return ctx, unauthorized("the token is not known")
}

// isJWT reports whether a token is to be checked by its issuer's keys.
func (a *Authenticator) isJWT(token string) bool {
	return a.oidc != nil && strings.Count(token, ".") == 2
}
