package access

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
)

var quiet = slog.New(slog.DiscardHandler)

func write(t testing.TB, path, text string) {
	t.Helper()
	tmp := path + ".tmp"
	require.NoError(t, os.WriteFile(tmp, []byte(text), 0o600))
	require.NoError(t, os.Rename(tmp, path))
}

func TestRoles(t *testing.T) {
	id := &Identity{Name: "ann", Every: Reader, Graph: map[string]Role{"own": Admin}}
	ctx := WithIdentity(context.Background(), id)
	require.NoError(t, Check(ctx, "other", Reader))
	require.NoError(t, Check(ctx, "own", Admin))
	err := Check(ctx, "other", Writer)
	require.EqualError(t, err, `ann lacks the role writer in the graph "other"`)
	require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
	require.Error(t, CheckEvery(ctx, Admin))
	require.Equal(t, Admin, id.highest())
	require.NoError(t, CheckEvery(context.Background(), Admin), "without authentication, everything is permitted")
}

// Custom roles and claims come from the tokens file and from JSON Web Tokens. By themselves they permit nothing.
func TestCustomRoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	sum := sha256.Sum256([]byte("secret"))
	write(t, path, fmt.Sprintf("tokens: [{name: ann, sha256: %x, graphs: {own: reader}, roles: [analyst], claims: {tenant: acme, level: 3, share: 0.5, on: true, regions: [a, 2]}}]", sum))
	a, err := New(Options{TokensFile: path}, quiet)
	require.NoError(t, err)
	ctx, err := a.Authenticate(context.Background(), "Bearer secret")
	require.NoError(t, err)
	id := Caller(ctx)
	require.Equal(t, map[string]string{"tenant": `"acme"`, "level": "3", "share": "0.5", "on": "true", "regions": `["a",2]`}, texts(t, id.Claims))
	id.Claims = nil
	require.Equal(t, &Identity{Name: "ann", Graph: map[string]Role{"own": Reader}, Roles: []string{"analyst"}}, id)
	require.True(t, id.CustomIn("g"))
	require.False(t, id.CustomIn("own"))
	require.NoError(t, Check(ctx, "g", Writer), "the rules of the graph decide")
	require.Error(t, Check(ctx, "g", Admin))
	require.NoError(t, Check(ctx, "own", Reader))
	require.Error(t, Check(ctx, "own", Writer))

	again, entry, err := NewTokenOf(&Identity{Name: "bob", Every: Fetcher, Roles: []string{"a b", "auditor"}, Claims: map[string]graph.Value{"tenant": graph.StringValue("x: y"), "n": graph.IntValue(1)}})
	require.NoError(t, err)
	write(t, path, "tokens:\n"+entry)
	a, err = New(Options{TokensFile: path}, quiet)
	require.NoError(t, err)
	ctx, err = a.Authenticate(context.Background(), "Bearer "+again)
	require.NoError(t, err)
	id = Caller(ctx)
	require.Equal(t, map[string]string{"tenant": `"x: y"`, "n": "1"}, texts(t, id.Claims))
	require.Equal(t, []string{"a b", "auditor"}, id.Roles)
	require.Equal(t, Fetcher, id.Every)
	_, _, err = NewTokenOf(&Identity{Name: "bob", Roles: []string{"admin"}})
	require.ErrorContains(t, err, "admin is a built-in role")

	id = &Identity{Graph: map[string]Role{}}
	for _, role := range []string{"analyst", "g:auditor", "h:writer", "", "g:", "reader"} {
		id.give(role)
	}
	require.Equal(t, &Identity{Every: Reader, Graph: map[string]Role{"h": Writer}, Roles: []string{"analyst"}, GraphRoles: map[string][]string{"g": {"auditor"}}}, id)
	require.Equal(t, []string{"analyst", "auditor"}, id.RolesIn("g"))
	require.Equal(t, []string{"analyst"}, id.RolesIn("h"))
}

// texts returns claims as JSON.
func texts(t *testing.T, claims map[string]graph.Value) map[string]string {
	out := map[string]string{}
	for name, v := range claims {
		b, err := rules.Constant{Value: v}.MarshalJSON()
		require.NoError(t, err)
		out[name] = string(b)
	}
	return out
}

func TestClaims(t *testing.T) {
	raw := func(text string) (out map[string]json.RawMessage) {
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		return out
	}
	claims, err := claimsOf(raw(`{"sub": "ann", "level": 9007199254740993, "x": {"y": 1}, "z": null, "l": [1.5, "a"], "m": [{}]}`))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"sub": `"ann"`, "level": "9007199254740993", "l": `[1.5,"a"]`}, texts(t, claims))
	_, err = claimsOf(raw(`{"long": "` + strings.Repeat("x", mostClaimBytes) + `"}`))
	require.ErrorContains(t, err, "it has 1 claims in 16390 bytes; at most 64 in 16384 are allowed")
	many := map[string]json.RawMessage{}
	for i := range mostClaims + 1 {
		many["c"+strconv.Itoa(i)] = json.RawMessage("1")
	}
	_, err = claimsOf(many)
	require.ErrorContains(t, err, "it has 65 claims")
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	secret, entry := NewToken("ann", Writer)
	write(t, path, "tokens:\n"+entry)
	a, err := New(Options{TokensFile: path}, quiet)
	require.NoError(t, err)
	ctx, err := a.Authenticate(context.Background(), "bearer "+secret)
	require.NoError(t, err)
	require.Equal(t, &Identity{Name: "ann", Every: Writer, Graph: map[string]Role{}}, Caller(ctx))
	basic := func(name, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
	}
	for _, name := range []string{"ann", "neo4j"} {
		ctx, err := a.Authenticate(context.Background(), basic(name, secret))
		require.NoError(t, err)
		require.Equal(t, "ann", Name(ctx))
	}
	for _, header := range []string{"", "Basic YTpi", "Basic !", basic("bob", secret), basic("neo4j", ""), "Bearer", "Bearer x", secret} {
		_, err := a.Authenticate(context.Background(), header)
		require.Equal(t, graph.KindUnauthenticated, graph.AsError(err).Kind, header)
	}

	// Changes of the file take effect. While it is invalid, its previous contents apply.
	other, second := NewToken("bob", Reader)
	await := func(token string, good bool) {
		require.Eventually(t, func() bool {
			_, err := a.Authenticate(context.Background(), "Bearer "+token)
			return (err == nil) == good
		}, time.Minute, 20*time.Millisecond)
	}
	write(t, path, "tokens: [broken")
	time.Sleep(lookAfter)
	await(secret, true)
	write(t, path, "tokens:\n"+second)
	await(other, true)
	await(secret, false)
}

func TestTokenFaults(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	for text, fault := range map[string]string{
		"tokens: [{name: a, sha256: x, role: reader}]":                                                       "tokens[0].sha256: must be 64 hexadecimal digits",
		"tokens: [{sha256: " + sum + ", role: reader}]":                                                      "tokens[0].name: must not be empty",
		"tokens: [{name: a, sha256: " + sum + "}]":                                                           "tokens[0].role: a token has a role, roles, or graphs with roles",
		"tokens: [{name: a, sha256: " + sum + ", role: root}]":                                               `tokens[0].role: must be operations, fetcher, reader, writer or admin, is "root"`,
		"tokens: [{name: a, sha256: " + sum + ", graphs: {g: x}}]":                                           "tokens[0].graphs.g: must be",
		"tokens: [{name: a, sha256: " + sum + ", roles: [writer]}]":                                          "tokens[0].roles[0]: writer is a built-in role",
		"tokens: [{name: a, sha256: " + sum + ", roles: [x, '']}]":                                           "tokens[0].roles[1]: must not be empty",
		"tokens: [{name: a, sha256: " + sum + ", roles: [x], claims: {t: {u: 1}}}]":                          "tokens[0].claims.t: must be a boolean, a number, a string, or a list of them",
		"tokens: [{name: a, sha256: " + sum + ", roles: [x], claims: {t: [[1]]}}]":                           "tokens[0].claims.t: a list of lists",
		"tokens: [{name: a, sha256: " + sum + ", roles: [x], claims: {t: 2026-01-01}}]":                      "tokens[0].claims.t: must be",
		"tokens: [{name: a, sha256: " + sum + ", roles: [x], claims: {t: null}}]":                            "tokens[0].claims.t: must be",
		"tokens: [{name: a, secret: x}]":                                                                     "field secret not found",
		"tokens: [{name: a, sha256: " + sum + ", role: admin}, {name: b, sha256: " + sum + ", role: admin}]": "is that of a already",
	} {
		write(t, path, text)
		_, err := New(Options{TokensFile: path}, quiet)
		require.ErrorContains(t, err, fault)
		require.ErrorContains(t, err, path)
	}
	_, err := New(Options{TokensFile: path + ".none"}, quiet)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// certificate returns a self-signed certificate and its key, as PEM.
func certificate(t testing.TB, name string) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

func TestTLSFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	f := TLSFiles{Cert: filepath.Join(dir, "crt"), Key: filepath.Join(dir, "key"), ClientCA: filepath.Join(dir, "ca")}
	clientCert, clientKey := certificate(t, "client")
	write(t, f.ClientCA, clientCert)
	cert, key := certificate(t, "first")
	write(t, f.Cert, cert)
	write(t, f.Key, key)
	c, err := TLS(f, quiet)
	require.NoError(t, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", c)
	require.NoError(t, err)
	srv := &http.Server{Handler: http.NotFoundHandler(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	done := make(chan struct{})
	go func() { _ = srv.Serve(l); close(done) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	pair, err := tls.X509KeyPair([]byte(clientCert), []byte(clientKey))
	require.NoError(t, err)
	name := func(certs ...tls.Certificate) (string, error) {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, Certificates: certs})
		if err != nil {
			return "", err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
			return "", err
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			return "", err
		}
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
	}
	got, err := name(pair)
	require.NoError(t, err)
	require.Equal(t, "first", got)
	_, err = name()
	require.Error(t, err, "a client without a certificate")
	cert, key = certificate(t, "second")
	write(t, f.Key, key)
	write(t, f.Cert, cert)
	require.Eventually(t, func() bool {
		got, err := name(pair)
		return err == nil && got == "second"
	}, time.Minute, 50*time.Millisecond)

	_, err = TLS(TLSFiles{Cert: f.Cert}, quiet)
	require.Error(t, err)
	_, err = TLS(TLSFiles{Cert: f.Cert, Key: f.Key, ClientCA: f.Key}, quiet)
	require.ErrorContains(t, err, "holds no certificate")
}

func TestOIDC(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	mux := http.NewServeMux()
	issuer := httptest.NewServer(mux)
	t.Cleanup(issuer.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys", "authorization_endpoint": issuer.URL, "token_endpoint": issuer.URL,
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	require.NoError(t, err)
	a, err := New(Options{OIDC: OIDC{Issuer: issuer.URL, Audience: "hopgate", Claim: "roles"}}, quiet)
	require.NoError(t, err)
	ask := func(audience string, life time.Duration, roles ...string) (*Identity, error) {
		token, err := jwt.Signed(signer).Claims(jwt.Claims{
			Issuer: issuer.URL, Subject: "ann", Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(time.Now().Add(life)),
		}).Claims(map[string]any{"roles": roles}).Serialize()
		require.NoError(t, err)
		ctx, err := a.Authenticate(context.Background(), "Bearer "+token)
		return Caller(ctx), err
	}
	id, err := ask("hopgate", time.Minute, "reader", "g:admin", "something:else")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Minute), id.Expires, 10*time.Second)
	ctx := WithIdentity(context.Background(), id)
	require.NoError(t, Check(ctx, "g", Admin))
	id.Expires = time.Now()
	require.Equal(t, "Neo.ClientError.Security.TokenExpired", graph.AsError(Check(ctx, "g", Admin)).Code)
	require.Equal(t, None, Caller(ctx).In("g"))
	id.Expires = time.Time{}
	require.Equal(t, "ann", id.Claims["sub"].Str())
	id.Claims = nil
	require.Equal(t, &Identity{
		Name: "ann", Issuer: issuer.URL, Every: Reader, Graph: map[string]Role{"g": Admin}, GraphRoles: map[string][]string{"something": {"else"}},
	}, id)
	cook, err := ask("hopgate", time.Minute, "cook")
	require.NoError(t, err)
	require.Equal(t, []string{"cook"}, cook.Roles)
	require.Error(t, Check(WithIdentity(context.Background(), cook), "g", Admin))
	for _, bad := range []func() (*Identity, error){
		func() (*Identity, error) { return ask("other", time.Minute, "reader") },
		func() (*Identity, error) { return ask("hopgate", -time.Minute, "reader") },
		func() (*Identity, error) { return ask("hopgate", time.Minute) },
	} {
		_, err := bad()
		require.Equal(t, graph.KindUnauthenticated, graph.AsError(err).Kind)
	}
}

func TestAudit(t *testing.T) {
	var b bytes.Buffer
	ctx, _ := WithRequest(WithIdentity(context.Background(), &Identity{Name: "ann"}), "r-1")
	NewAudit(&b).Record(ctx, "write", "default", "CREATE (\"x\")", "ok")
	var line map[string]string
	require.NoError(t, json.Unmarshal(b.Bytes(), &line))
	require.NotEmpty(t, line["time"])
	delete(line, "time")
	require.Equal(t, map[string]string{"request": "r-1", "caller": "ann", "action": "write", "graph": "default", "what": "CREATE (\"x\")", "outcome": "ok"}, line)
	b.Reset()
	NewAudit(&b).Record(WithIdentity(ctx, &Identity{Name: "ann", Issuer: "https://issuer.example"}), "write", "default", "CREATE ()", "ok")
	require.Contains(t, b.String(), `"caller":"ann"`)
	require.Contains(t, b.String(), `"issuer":"https://issuer.example"`)
	(*Audit)(nil).Record(ctx, "write", "", "", "")

	path := filepath.Join(t.TempDir(), "audit.log")
	for range 2 {
		a, file, err := OpenAudit(path)
		require.NoError(t, err)
		a.Record(ctx, "write", "", "", "ok")
		require.NoError(t, file.Close())
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count(data, []byte("\n")))
}
