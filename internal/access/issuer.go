package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/hopgate/hopgate/internal/graph"
)

// Anyone can send a token that looks like the issuer's, so what such tokens cost is bounded: one fetch of keys at a time, one per fetchPause,
// and mostWaiting requests that wait for it.
const (
	fetchTime   = 5 * time.Second
	fetchPause  = 5 * time.Second
	mostWaiting = 64
	mostKeys    = 1 << 20 // bytes
)

// issuer fetches the keys of an OpenID Connect issuer.
type issuer struct {
	url string

	mu       sync.Mutex
	keys     *keys         // fetched last; nil: none
	fault    error         // of the last fetch
	ended    time.Time     // the last fetch
	fetching chan struct{} // closed at the end of the current fetch; nil: there is none
	waiting  int
}

// keys are an issuer's keys and signing algorithms.
type keys struct {
	all  []jose.JSONWebKey
	algs []string
}

// newer returns the keys fetched last, and fetches them if they are old, which may be nil, unless the last fetch has just ended.
func (i *issuer) newer(ctx context.Context, old *keys) (*keys, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.keys == old {
		if !i.ended.IsZero() && time.Since(i.ended) < fetchPause {
			if old == nil {
				return nil, i.silent(i.fault)
			}
			return old, nil
		}
		if i.fetching == nil {
			i.fetching = make(chan struct{})
			go i.fetch() //nolint:gosec // The keys are for all requests, so the fetch outlives this one.
		}
		if i.waiting == mostWaiting {
			return nil, i.silent(errors.New("too many requests wait for its keys"))
		}
		i.waiting++
		done := i.fetching
		i.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
		}
		i.mu.Lock()
		i.waiting--
		if ctx.Err() != nil {
			return nil, graph.DeadlineError(context.Cause(ctx))
		}
	}
	return i.keys, nil
}

// silent is the error for an issuer that does not tell its keys.
func (i *issuer) silent(err error) error {
	return graph.Unavailable("SecurityError", "IssuerUnavailable", "the token cannot be checked: the issuer "+i.url+" has not sent its keys", err)
}

// fetch fetches the keys.
func (i *issuer) fetch() {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	k, err := i.load(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fault, i.ended = err, time.Now(); err == nil {
		i.keys = k
	}
	close(i.fetching)
	i.fetching = nil
}

// load finds the issuer's keys by discovery.
func (i *issuer) load(ctx context.Context) (*keys, error) {
	p, err := oidc.NewProvider(ctx, i.url)
	if err != nil {
		return nil, err
	}
	var about struct {
		Keys string   `json:"jwks_uri"`
		Algs []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := p.Claims(&about); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, about.Keys, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", about.Keys, res.Status)
	}
	var set struct{ Keys []json.RawMessage }
	if err := json.NewDecoder(io.LimitReader(res.Body, mostKeys)).Decode(&set); err != nil {
		return nil, fmt.Errorf("%s: %w", about.Keys, err)
	}
	k := &keys{algs: supported(about.Algs)}
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil { // others are of kinds that the library does not know
			k.all = append(k.all, key)
		}
	}
	if len(k.all) == 0 {
		return nil, fmt.Errorf("%s holds no key of a known kind", about.Keys)
	}
	return k, nil
}

// supported returns the algorithms of public keys among those of an issuer.
func supported(algs []string) (out []string) {
	for _, a := range algs {
		switch a {
		case oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA:
			out = append(out, a)
		}
	}
	return out
}

// signature verifies the signature of one token. It implements oidc.KeySet.
type signature struct {
	*keys
	unknown bool // none of the keys has signed the token
}

// VerifySignature implements oidc.KeySet.
func (s *signature) VerifySignature(_ context.Context, token string) ([]byte, error) {
	algs := make([]jose.SignatureAlgorithm, len(s.algs))
	for i, a := range s.algs {
		algs[i] = jose.SignatureAlgorithm(a)
	}
	if len(algs) == 0 {
		algs = []jose.SignatureAlgorithm{jose.RS256}
	}
	jws, err := jose.ParseSigned(token, algs)
	if err != nil {
		return nil, err
	}
	for i := range s.all {
		key := &s.all[i]
		if id := jws.Signatures[0].Header.KeyID; id != "" && id != key.KeyID {
			continue
		}
		if payload, err := jws.Verify(key); err == nil {
			return payload, nil
		}
	}
	s.unknown = true
	return nil, errors.New("none of the issuer's keys has signed it")
}
