package main

import (
	"log/slog"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/config"
)

// authenticator returns what identifies callers, or nil if the settings name neither tokens nor an issuer.
func authenticator(c *config.Config, memory config.Budget, log *slog.Logger) (*access.Authenticator, error) {
	return access.New(access.Options{
		TokensFile: c.TokensFile, Whole: c.Whole(memory), OIDC: access.OIDC{Issuer: c.OIDCIssuer, Audience: c.OIDCAudience, Claim: c.OIDCRoles},
	}, log)
}

// openProcesses says that tokens do not protect a cluster whose processes take every caller.
const openProcesses = "callers need tokens, but the processes of the cluster do not authenticate each other (shard-ca is not set): " +
	"anyone who reaches the address of a shard reads and changes everything"

// warnings returns what is wrong with settings that work nevertheless, and logs it.
func warnings(c *config.Config, log *slog.Logger) (out []string) {
	asks := c.TokensFile != "" || c.OIDCIssuer != ""
	if cluster := c.ShardAddresses != "" || c.Join != ""; asks && cluster && c.ShardCA == "" {
		out = append(out, openProcesses)
	}
	for _, w := range out {
		log.Warn("a setting leaves a hole", slog.String("warning", w))
	}
	return out
}
