package main_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	require.NoError(t, err)
	return &authority{c, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// sign returns a certificate for hosts and its key, as PEM.
func (a *authority) sign(t *testing.T, name string, hosts ...string) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, k.Public(), a.key)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// trusted makes the default HTTP client of the test trust only the authority.
func (a *authority) trusted(t *testing.T) (*x509.CertPool, *tls.Config) {
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM([]byte(a.pem)))
	trust := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool}
	client := http.DefaultClient
	http.DefaultClient = &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	t.Cleanup(func() { http.DefaultClient.CloseIdleConnections(); http.DefaultClient = client })
	return pool, trust
}

// A cluster speaks by mutual TLS, and takes new certificates up. Who has no certificate of the cluster learns nothing from
// a shard.
func TestClusterTLS(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	a := newAuthority(t)
	cert, key := a.sign(t, "cluster", "127.0.0.1")
	files := []string{"--tls-cert", file("crt", cert), "--tls-key", file("key", key), "--shard-ca", file("ca", a.pem)}
	pool, trust := a.trusted(t)
	ss, gs := startCluster(t, 3, 1, files...)
	for _, statement := range clusterStatements {
		_, err := ask(gs[0].http, statement)
		require.NoError(t, err, statement)
	}

	userCert, userKey := a.sign(t, "user", "elsewhere")
	user, err := tls.X509KeyPair([]byte(userCert), []byte(userKey))
	require.NoError(t, err)
	withUser := trust.Clone()
	withUser.Certificates = []tls.Certificate{user}
	for name, creds := range map[string]credentials.TransportCredentials{
		"plain": insecure.NewCredentials(), "no certificate": credentials.NewTLS(trust), "a user's certificate": credentials.NewTLS(withUser),
	} {
		for no, s := range ss {
			conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(creds))
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			_, err = pb.NewReadServiceClient(conn).Scan(ctx, &pb.ScanRequest{Snapshot: &pb.Snapshot{Graph: "default"}})
			require.ErrorContains(t, err, "Unavailable", "%s, shard %d", name, no)
			require.NoError(t, ctx.Err(), "%s, shard %d", name, no)
			cancel()
			require.NoError(t, conn.Close())
		}
	}

	// Another authority: shards and gateways use the new files when they reconnect.
	b := newAuthority(t)
	cert, key = b.sign(t, "cluster", "127.0.0.1")
	require.True(t, pool.AppendCertsFromPEM([]byte(b.pem)))
	file("ca", b.pem)
	file("key", key)
	file("crt", cert)
	for _, s := range ss[1:] {
		s.kill(syscall.SIGKILL)
		s.start()
	}
	eventually(t, func() bool {
		_, err := ask(gs[0].http, "MATCH (n) RETURN count(n)")
		return err == nil
	}, 20*time.Millisecond)
}
