package changes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hopgate/hopgate/internal/cli/changes/sink"
	"github.com/hopgate/hopgate/internal/cli/changes/sink/sinktest"
)

// certificate returns the settings of a server and of its clients with one certificate, which is its own authority, and its file and its key's.
func certificate(t *testing.T) (c *tls.Config, certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	c = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	c.RootCAs.AddCert(parsed)
	return c, certFile, keyFile
}

// Brokers are reached by TLS, and only those whose certificate is trusted; a broker may ask for the client's.
func TestTLS(t *testing.T) {
	c, cert, key := certificate(t)
	mutual := c.Clone()
	mutual.ClientCAs, mutual.ClientAuth = c.RootCAs, tls.RequireAndVerifyClientCert
	one := &source{}
	one.add(1, 0, true, "v0:1", "u")
	k := sinktest.Kafka(t, 1, kfake.TLS(mutual))
	n := sinktest.NATS(t, func(o *server.Options, _ *jetstream.StreamConfig) { o.TLS, o.TLSConfig = true, c })
	pair := "&ssl.certificate.location=" + cert + "&ssl.key.location=" + key
	require.NoError(t, shipTo(t.Context(), one, k.Address()+"?security.protocol=SSL&ssl.ca.location="+cert+pair, sink.Options{}))
	require.NoError(t, shipTo(t.Context(), one, n.Address()+"?tls.ca="+cert, sink.Options{}))
	require.Len(t, n.Events(), 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := shipTo(ctx, one, n.Address()+"?tls=true", sink.Options{})
	require.ErrorContains(t, err, "SinkUnreachable: ")
	require.ErrorContains(t, err, "certificate")
}
