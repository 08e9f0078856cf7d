package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch"
)

// fetchRules reads the access rules of fetches; nil without a file.
func fetchRules(path string) (*fetch.Rules, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("fetch-access: %w", err)
	}
	rules, err := fetch.ParseRules(text)
	if err != nil {
		return nil, fmt.Errorf("fetch-access: %s: %w", path, err)
	}
	return rules, nil
}

// fetchCaller identifies the caller of a fetch: the name of the token is the key of the caller's vertex, converted to a number if it is
// one. Without tokens, the caller is unknown.
func fetchCaller(ctx context.Context, graphName string) fetch.Caller {
	id := access.Caller(ctx)
	if id == nil || id.Name == "" {
		return fetch.Caller{}
	}
	c := fetch.Caller{ID: graph.StringValue(id.Name), Admin: id.In(graphName) >= access.Admin}
	if n, err := strconv.ParseInt(id.Name, 10, 64); err == nil {
		c.ID = graph.IntValue(n)
	}
	return c
}
