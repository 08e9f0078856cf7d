package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
)

// MutualFiles are the PEM files of a process of a cluster.
type MutualFiles struct {
	Cert, Key string // the certificate of the process, as client and as server
	CA        string // the authority that signs the certificates of all processes
}

// Mutual is the mutual authentication of the processes of a cluster. Like TLS, it reloads its files when they change.
type Mutual struct {
	files MutualFiles
	names atomic.Pointer[[]string]
	w     *watched[mutual]
}

// mutual is the content of the files.
type mutual struct{ client, server *tls.Config }

// NewMutual reads the files. A caller's certificate must be valid for one of names, the names of the shards, because the authority may also
// sign certificates of clients. NewMutual returns nil if no authority is set.
func NewMutual(f MutualFiles, names []string, log *slog.Logger) (*Mutual, error) {
	if f.CA == "" {
		return nil, nil
	}
	m := &Mutual{files: f}
	m.SetNames(names)
	var err error
	m.w, err = watch(log, m.read, f.Cert, f.Key, f.CA)
	return m, err
}

// SetNames changes the names of the shards.
func (m *Mutual) SetNames(names []string) { m.names.Store(&names) }

func (m *Mutual) read() (*mutual, error) {
	pair, err := tls.LoadX509KeyPair(m.files.Cert, m.files.Key)
	if err != nil {
		return nil, fmt.Errorf("tls-cert %s, tls-key %s: %w", m.files.Cert, m.files.Key, err)
	}
	pem, err := os.ReadFile(m.files.CA)
	if err != nil {
		return nil, fmt.Errorf("shard-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("shard-ca: %s holds no certificate", m.files.CA)
	}
	own := []tls.Certificate{pair}
	return &mutual{
		client: &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: own, RootCAs: pool},
		server: &tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: own, ClientCAs: pool,
			ClientAuth: tls.RequireAndVerifyClientCert, VerifyConnection: m.admit,
		},
	}, nil
}

// admit verifies that a caller belongs to the cluster.
func (m *Mutual) admit(c tls.ConnectionState) error {
	for _, name := range *m.names.Load() {
		if c.PeerCertificates[0].VerifyHostname(name) == nil {
			return nil
		}
	}
	return errors.New("the caller's certificate is not valid for the name of any shard")
}

// Client returns the configuration for the next outgoing connection.
func (m *Mutual) Client() *tls.Config { return m.w.get().client }

// Server returns the configuration of a listener.
func (m *Mutual) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return m.w.get().server, nil },
	}
}
