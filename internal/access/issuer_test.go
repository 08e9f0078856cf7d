package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// testIssuer is an issuer with one key, which counts the questions for its keys.
type testIssuer struct {
	*httptest.Server
	key   *ecdsa.PrivateKey
	asked atomic.Int64
	hang  chan struct{} // if not nil, no question is answered before it is closed
}

func newIssuer(t *testing.T) *testIssuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &testIssuer{key: key}
	mux := http.NewServeMux()
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		if i.hang != nil {
			<-i.hang
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL, "token_endpoint": i.URL,
			"id_token_signing_alg_values_supported": []string{"ES256", "none"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
			map[string]string{"kty": "unknown"}, jose.JSONWebKey{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"},
		}})
	})
	return i
}

// token returns a token of a subject, signed by a key with an id.
func (i *testIssuer) token(t *testing.T, key *ecdsa.PrivateKey, id, subject string) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	require.NoError(t, err)
	token, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: i.URL, Subject: subject, Audience: jwt.Audience{"hopgate"}, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}).Claims(map[string]any{"roles": []string{"reader"}}).Serialize()
	require.NoError(t, err)
	return token
}

func (i *testIssuer) authenticator(t *testing.T, tokensFile string) *Authenticator {
	a, err := New(Options{TokensFile: tokensFile, OIDC: OIDC{Issuer: i.URL, Audience: "hopgate", Claim: "roles"}}, quiet)
	require.NoError(t, err)
	return a
}

// While the issuer does not answer, one question is open, and few requests wait for it.
func TestHangingIssuer(t *testing.T) {
	i := newIssuer(t)
	i.hang = make(chan struct{})
	a := i.authenticator(t, "")
	token := i.token(t, i.key, "k", "ann")
	const requests = 10 * mostWaiting
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range requests {
		wg.Go(func() {
			if _, err := a.Token(context.Background(), token); err != nil {
				if graph.AsError(err).Kind == graph.KindUnavailable {
					refused.Add(1)
				}
			}
		})
	}
	require.Eventually(t, func() bool { return refused.Load() >= requests-mostWaiting }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, i.asked.Load(), int64(1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := a.Token(ctx, token)
	require.Error(t, err)
	close(i.hang)
	wg.Wait()
	_, err = a.Token(context.Background(), token)
	require.NoError(t, err)
}

// Tokens of unknown keys make the server ask for the keys again once in a while only, and disturb no other tokens.
func TestUnknownKeys(t *testing.T) {
	i := newIssuer(t)
	a := i.authenticator(t, "")
	good := i.token(t, i.key, "k", "ann")
	_, err := a.Token(context.Background(), good)
	require.NoError(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for _, id := range []string{"k", "k2", "k3", "", "k4"} {
		_, err := a.Token(context.Background(), i.token(t, other, id, "ann"))
		require.Equal(t, graph.KindUnauthenticated, graph.AsError(err).Kind)
	}
	require.EqualValues(t, 1, i.asked.Load())
	a.oidc.issuer.ended = time.Now().Add(-fetchPause) // the pause is over
	for _, id := range []string{"k5", "k6"} {
		_, err = a.Token(context.Background(), i.token(t, other, id, "ann"))
		require.Equal(t, graph.KindUnauthenticated, graph.AsError(err).Kind)
	}
	require.EqualValues(t, 2, i.asked.Load())
	_, err = a.Token(context.Background(), good)
	require.NoError(t, err)
}

// A name belongs to its issuer: the same name in the tokens file is another caller. A token without a name is refused.
func TestSubjects(t *testing.T) {
	i := newIssuer(t)
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	secret, entry := NewToken("ann", Reader)
	write(t, path, "tokens:\n"+entry)
	a := i.authenticator(t, path)
	static, err := a.Authenticate(context.Background(), "Bearer "+secret)
	require.NoError(t, err)
	issued, err := a.Authenticate(context.Background(), "Bearer "+i.token(t, i.key, "k", "ann"))
	require.NoError(t, err)
	require.Equal(t, Name(static), Name(issued))
	require.NotEqual(t, Of(static), Of(issued))
	require.Equal(t, Subject{Issuer: i.URL, Name: "ann"}, Of(issued))
	_, err = a.Authenticate(context.Background(), "Bearer "+i.token(t, i.key, "k", ""))
	require.ErrorContains(t, err, "claim sub")
	require.Equal(t, graph.KindUnauthenticated, graph.AsError(err).Kind)
}

// A grant follows the tokens file: the roles of its token, and its end.
func TestGrant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	secret, entry := NewToken("ann", Writer)
	write(t, path, "tokens:\n"+entry)
	a, err := New(Options{TokensFile: path}, quiet)
	require.NoError(t, err)
	ctx, err := a.Authenticate(context.Background(), "Bearer "+secret)
	require.NoError(t, err)
	require.NoError(t, Check(ctx, "g", Writer))
	write(t, path, "tokens:\n"+entry[:len(entry)-len("role: writer}\n")]+"graphs: {g: reader}}\n")
	require.Eventually(t, func() bool { return graph.AsError(Check(ctx, "g", Writer)).Kind == graph.KindDenied }, time.Minute, time.Millisecond)
	require.NoError(t, Check(ctx, "g", Reader))
	require.Error(t, Check(ctx, "h", Reader))
	write(t, path, "tokens: []\n")
	require.Eventually(t, func() bool { return graph.AsError(Check(ctx, "g", Reader)).Kind == graph.KindUnauthenticated }, time.Minute, time.Millisecond)
	require.Error(t, CheckEvery(ctx, None))
	require.Equal(t, &Identity{Name: "ann"}, Caller(ctx), "a caller without a valid token has no roles, and is not unknown")
}
