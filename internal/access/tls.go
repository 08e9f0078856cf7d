package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
)

// TLSFiles are the PEM files of a listener.
type TLSFiles struct {
	Cert, Key string
	ClientCA  string // if set, client certificates must be signed by it
}

// TLS returns the configuration of a listener. It reloads the files when they change: open connections continue, new ones use the new
// files. It returns nil if no certificate is set.
func TLS(f TLSFiles, log *slog.Logger) (*tls.Config, error) {
	if f.Cert == "" && f.Key == "" && f.ClientCA == "" {
		return nil, nil
	}
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("tls-cert and tls-key: must be given together")
	}
	paths := []string{f.Cert, f.Key}
	if f.ClientCA != "" {
		paths = append(paths, f.ClientCA)
	}
	w, err := watch(log, f.read, paths...)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return w.get(), nil
		},
	}, nil
}

func (f TLSFiles) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("tls-cert %s, tls-key %s: %w", f.Cert, f.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}}
	if f.ClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("tls-client-ca: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("tls-client-ca: %s holds no certificate", f.ClientCA)
	}
	return c, nil
}
