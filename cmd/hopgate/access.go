package main

import (
	"crypto/tls"
	"log/slog"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/config"
)

// guards decide whom listeners admit.
type guards struct {
	auth          *access.Authenticator // nil: no tokens
	tls, adminTLS *tls.Config           // nil: plain
	web, boltWeb  *access.Web
}

// newGuards reads the files of certificates and tokens.
func newGuards(c *config.Config, memory config.Budget, log *slog.Logger) (d guards, err error) {
	if d.auth, err = authenticator(c, memory, log); err != nil {
		return d, err
	}
	if d.tls, err = access.TLS(access.TLSFiles{Cert: c.TLSCert, Key: c.TLSKey, ClientCA: c.TLSClientCA}, log); err != nil {
		return d, err
	}
	if c.AdminTLS {
		d.adminTLS = d.tls
	}
	if d.web, err = access.NewWeb(c.HTTPOrigins, c.HTTPHosts); err != nil {
		return d, err
	}
	d.boltWeb, err = access.NewOrigins("bolt-origins", c.BoltOrigins, c.HTTPHosts)
	return d, err
}

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
	if asks && c.Join != "" && c.ShardCA == "" {
		out = append(out, openProcesses)
	}
	for _, w := range out {
		log.Warn("a setting leaves a hole", slog.String("warning", w))
	}
	return out
}
