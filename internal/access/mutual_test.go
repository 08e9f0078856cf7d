package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Processes of a cluster admit each other by an authority and the names of the shards, and follow their files.
func TestMutual(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		write(t, path, text)
		return path
	}
	shard := newAuthority(t)
	cert, key := shard.sign(t, "first", "127.0.0.1")
	f := MutualFiles{Cert: file("crt", cert), Key: file("key", key), CA: file("ca", shard.pem)}
	server, err := NewMutual(f, []string{"shard-0", "127.0.0.1"}, quiet)
	require.NoError(t, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", server.Server())
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if c.(*tls.Conn).HandshakeContext(t.Context()) == nil {
				_, _ = c.Write([]byte{1})
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	// call returns the name of the server that answers.
	call := func(conf *tls.Config) (string, error) {
		conf.ServerName = "127.0.0.1"
		c, err := (&tls.Dialer{Config: conf}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			return "", err
		}
		defer c.Close()
		_, err = c.Read(make([]byte, 1)) // a server's refusal follows the handshake
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName, err
	}
	client := func(name, host string, signer, trusted *authority) *Mutual {
		cert, key := signer.sign(t, name, host)
		m, err := NewMutual(MutualFiles{Cert: file(name+"crt", cert), Key: file(name+"key", key), CA: file(name+"ca", trusted.pem)}, nil, quiet)
		require.NoError(t, err)
		return m
	}
	gateway := client("gateway", "shard-0", shard, shard)
	got, err := call(gateway.Client())
	require.NoError(t, err)
	require.Equal(t, "first", got)

	bare := gateway.Client().Clone()
	bare.Certificates = nil
	other := newAuthority(t)
	for name, c := range map[string]*tls.Config{
		"no certificate":      bare,
		"not of the cluster":  client("user", "elsewhere", shard, shard).Client(),
		"another's authority": client("forged", "shard-0", other, shard).Client(),
		"another's trust":     client("lost", "shard-0", shard, other).Client(),
	} {
		_, err := call(c)
		require.Error(t, err, name)
	}
	plain, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	_, _ = plain.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	answer := make([]byte, 16)
	n, _ := plain.Read(answer)
	require.NotEqual(t, []byte{1}, answer[:n])
	require.NoError(t, plain.Close())

	// The authority changes: each side takes its new files up.
	cert, key = other.sign(t, "second", "127.0.0.1")
	write(t, f.CA, other.pem)
	write(t, f.Key, key)
	write(t, f.Cert, cert)
	cert, key = other.sign(t, "gateway", "shard-0")
	write(t, gateway.files.CA, other.pem)
	write(t, gateway.files.Key, key)
	write(t, gateway.files.Cert, cert)
	require.Eventually(t, func() bool {
		got, err := call(gateway.Client())
		return err == nil && got == "second"
	}, time.Minute, 50*time.Millisecond)

	_, err = NewMutual(MutualFiles{Cert: f.Cert, Key: f.Key, CA: f.Key}, nil, quiet)
	require.ErrorContains(t, err, "holds no certificate")
	none, err := NewMutual(MutualFiles{}, nil, quiet)
	require.NoError(t, err)
	require.Nil(t, none)
}

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

// sign returns a certificate for a host and its key, as PEM.
func (a *authority) sign(t *testing.T, name, host string) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, k.Public(), a.key)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}
