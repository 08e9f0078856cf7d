package server

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/console"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/boltapi"
	"github.com/hopgate/hopgate/internal/server/grpcapi"
	"github.com/hopgate/hopgate/internal/server/httpapi"
	"github.com/hopgate/hopgate/internal/server/request"
)

// A browser gets the console, everybody else the discovery document; without a console, all get the document.
func TestConsole(t *testing.T) {
	pages, err := console.New()
	require.NoError(t, err)
	with := serveOver(t, newOracle(t), query.Options{}, Options{Transports: []request.Transport{
		httpapi.Transport(httpapi.Options{Console: pages}), grpcapi.Transport(grpcapi.Options{}), boltapi.Transport(boltapi.Options{}),
	}})
	without := serveOver(t, newOracle(t), query.Options{}, Options{})
	for _, c := range []struct {
		address, path, accept string
		status                int
		media, holds          string
	}{
		{with.addrs.HTTP, "/", "text/html,application/xhtml+xml,*/*;q=0.8", 200, "text/html; charset=utf-8", "<title>Hopgate</title>"},
		{with.addrs.HTTP, "/", "application/json", 200, "application/json", "neo4j_version"},
		{with.addrs.HTTP, "/", "*/*", 200, "application/json", "neo4j_version"},
		{with.addrs.HTTP, "/console/main.js", "*/*", 200, "text/javascript; charset=utf-8", "import"},
		{with.addrs.HTTP, "/console/none.js", "*/*", 404, "text/plain; charset=utf-8", ""},
		{without.addrs.HTTP, "/", "text/html", 200, "application/json", "neo4j_version"},
		{without.addrs.HTTP, "/console/main.js", "*/*", 404, "application/json", "NoSuchRoute"},
	} {
		req, err := http.NewRequest(http.MethodGet, "http://"+c.address+c.path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Accept", c.accept)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, c.status, res.StatusCode, c)
		require.Equal(t, c.media, res.Header.Get("Content-Type"), c)
		require.Contains(t, string(body), c.holds)
	}
}
