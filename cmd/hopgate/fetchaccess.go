package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// tokensIssuer names the tokens file in access rules.
const tokensIssuer = "tokens"

// fetchRules reads the access rules of fetches; nil without a file. They name the issuer whose names are keys of vertices if there are two.
func fetchRules(c *config.Config) (*syntax.Rules, error) {
	if c.FetchAccess == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.FetchAccess)
	if err != nil {
		return nil, fmt.Errorf("fetch-access: %w", err)
	}
	rules, err := syntax.ParseRules(text)
	if err != nil {
		return nil, fmt.Errorf("fetch-access: %s: %w", c.FetchAccess, err)
	}
	var issuers []string
	if c.TokensFile != "" {
		issuers = append(issuers, tokensIssuer)
	}
	if c.OIDCIssuer != "" {
		issuers = append(issuers, c.OIDCIssuer)
	}
	switch {
	case rules.Issuer == "" && len(issuers) == 1:
		rules.Issuer = issuers[0]
	case (rules.Issuer != "" || len(issuers) > 1) && !slices.Contains(issuers, rules.Issuer):
		return nil, fmt.Errorf("fetch-access: %s: issuer: must be one of %q, those of --tokens-file and --oidc-issuer, is %q", c.FetchAccess, issuers, rules.Issuer)
	}
	return rules, nil
}

// fetchCaller identifies the callers of fetches: the name of a caller of the rules' issuer is the key of the caller's vertex, converted to a
// number if it is one. Without tokens, the caller is unknown.
func fetchCaller(rules *syntax.Rules) func(context.Context, string) syntax.Caller {
	return func(ctx context.Context, graphName string) syntax.Caller {
		id := access.Caller(ctx)
		if id == nil || id.Name == "" {
			return syntax.Caller{}
		}
		c := syntax.Caller{Known: true, Admin: id.In(graphName) >= access.Admin}
		if cmp.Or(id.Issuer, tokensIssuer) != rules.Issuer {
			return c
		}
		c.ID = graph.StringValue(id.Name)
		if n, err := strconv.ParseInt(id.Name, 10, 64); err == nil {
			c.ID = graph.IntValue(n)
		}
		return c
	}
}
