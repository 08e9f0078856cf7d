package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A token is 128 random bits or more, which nobody guesses and which a plain hash therefore hides: only passwords need a
// slow one. NewToken makes 130 bits.

// tokenFile is the form of a file of tokens.
type tokenFile struct {
	Tokens []struct {
		Name   string            `yaml:"name"`
		SHA256 string            `yaml:"sha256"` // of the token, in hexadecimal digits
		Role   string            `yaml:"role"`   // in all graphs
		Graphs map[string]string `yaml:"graphs"` // role by graph
		Limits *string           `yaml:"limits"` // as ParseLimits reads them
	} `yaml:"tokens"`
}

// tokens finds identities by the hash of their token.
type tokens map[[sha256.Size]byte]*Identity

// readTokens reads a file of tokens; whole is what percentages are of.
func readTokens(path string, whole Limits) (tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	defer func() { _ = f.Close() }()
	var doc tokenFile
	dec := yaml.NewDecoder(f)
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("tokens: %s: %w", path, err)
	}
	ts := tokens{}
	var errs []error
	for i, t := range doc.Tokens {
		bad := func(field string, err error) {
			errs = append(errs, fmt.Errorf("tokens: %s: tokens[%d].%s: %w", path, i, field, err))
		}
		id := &Identity{Name: t.Name, Graph: map[string]Role{}}
		if t.Name == "" {
			bad("name", errors.New("must not be empty"))
		}
		sum, err := hex.DecodeString(t.SHA256)
		if err != nil || len(sum) != sha256.Size {
			bad("sha256", errors.New("must be 64 hexadecimal digits"))
			continue
		}
		if t.Role != "" {
			if id.Every, err = ParseRole(t.Role); err != nil {
				bad("role", err)
			}
		} else if len(t.Graphs) == 0 {
			bad("role", errors.New("a token has a role, or graphs with roles"))
		}
		for g, name := range t.Graphs {
			if id.Graph[g], err = ParseRole(name); err != nil {
				bad("graphs."+g, err)
			}
		}
		if t.Limits != nil {
			l, err := ParseLimits(*t.Limits, whole)
			if err != nil {
				bad("limits", err)
			}
			id.Limits = &l
		}
		key := [sha256.Size]byte(sum)
		if ts[key] != nil {
			bad("sha256", fmt.Errorf("is that of %s already", ts[key].Name))
		}
		ts[key] = id
	}
	return ts, errors.Join(errs...)
}

// find gives the identity of a token, or nil. What its time tells is about the hash alone, from which no token follows.
func (ts tokens) find(token string) *Identity { return ts[sha256.Sum256([]byte(token))] }

// NewToken makes a token and the entry for it in a file of tokens.
func NewToken(name string, role Role) (token, entry string) {
	token = "hop_" + strings.ToLower(rand.Text())
	sum := sha256.Sum256([]byte(token))
	return token, fmt.Sprintf("- {name: %q, sha256: %s, role: %s}\n", name, hex.EncodeToString(sum[:]), role)
}
