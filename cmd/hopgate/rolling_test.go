package main_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
)

// Certificates and tokens change under load, over connections that stay and over new ones, and no request fails. A token is
// good as soon as its file has it.
func TestRollingSecrets(t *testing.T) {
	dir := t.TempDir()
	replace := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path+".tmp", []byte(text), 0o600))
		require.NoError(t, os.Rename(path+".tmp", path))
		return path
	}
	a := newAuthority(t)
	certify := func(name string) (crt, key string) {
		cert, private := a.sign(t, name, "127.0.0.1")
		return replace("crt", cert), replace("key", private)
	}
	crt, key := certify("round 0")
	token, entry := access.NewToken("ann", access.Reader)
	tokens := replace("tokens", "tokens:\n"+entry)
	s := start(t, t.TempDir(), "--tls-cert", crt, "--tls-key", key, "--tokens-file", tokens)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM([]byte(a.pem)))
	trust := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}

	var current atomic.Pointer[string]
	current.Store(&token)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked [4]atomic.Int64
	var wrong sync.Map
	var clients sync.WaitGroup
	client := func(no int, ask func(token string) error) {
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := ask(*current.Load()); err != nil {
					wrong.Store(fmt.Sprintf("client %d, request %d: %v", no, asked[no].Load(), err), true)
				}
				asked[no].Add(1)
			}
		})
	}
	for no, fresh := range []bool{false, true} {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: trust.Clone(), DisableKeepAlives: fresh, ForceAttemptHTTP2: !fresh}}
		defer c.CloseIdleConnections()
		client(no, func(token string) error {
			req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "https://"+s.addrs.HTTP+"/v1/query", strings.NewReader(`{"statement": "RETURN 1"}`))
			if err != nil {
				return err
			}
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := c.Do(req)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
				return fmt.Errorf("%d: %s, %w", res.StatusCode, text, err)
			}
			return nil
		})
		dial := func() (*grpc.ClientConn, error) {
			return grpc.NewClient(s.addrs.GRPC, grpc.WithTransportCredentials(credentials.NewTLS(trust.Clone())))
		}
		conn, err := dial()
		require.NoError(t, err)
		defer conn.Close()
		client(2+no, func(token string) error {
			conn := conn
			if fresh {
				var err error
				if conn, err = dial(); err != nil {
					return err
				}
				defer conn.Close()
			}
			stream, err := pb.NewGraphServiceClient(conn).Query(
				metadata.AppendToOutgoingContext(context.WithoutCancel(ctx), "authorization", "Bearer "+token), &pb.QueryRequest{Statement: "RETURN 1"})
			for err == nil {
				_, err = stream.Recv()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		})
	}
	for round := 1; round <= 3; round++ {
		name := fmt.Sprint("round ", round)
		certify(name)
		next, nextEntry := access.NewToken("ann", access.Reader)
		replace("tokens", "tokens:\n"+entry+nextEntry)
		current.Store(&next)
		eventually(t, func() bool {
			c, err := tls.Dial("tcp", s.addrs.HTTP, trust)
			if err != nil {
				return false
			}
			defer c.Close()
			return c.ConnectionState().PeerCertificates[0].Subject.CommonName == name
		}, 20*time.Millisecond)
		// Requests with the old token may still be on their way.
		for no := range asked {
			before := asked[no].Load()
			eventually(t, func() bool { return asked[no].Load() >= before+2 }, time.Millisecond)
		}
		entry = nextEntry
		replace("tokens", "tokens:\n"+entry)
	}
	cancel()
	clients.Wait()
	wrong.Range(func(what, _ any) bool {
		t.Error(what)
		return true
	})
	for no := range asked {
		require.Greater(t, asked[no].Load(), int64(6), "client %d", no)
	}
}
