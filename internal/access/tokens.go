package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
)

// A token has at least 128 random bits, so it cannot be guessed, and a fast hash protects it; only passwords need a slow one. NewToken
// generates 130 bits.

// tokenFile is the format of a tokens file.
type tokenFile struct {
	Tokens []struct {
		Name   string            `yaml:"name"`
		SHA256 string            `yaml:"sha256"` // of the token, in hexadecimal digits
		Role   string            `yaml:"role"`   // in all graphs
		Graphs map[string]string `yaml:"graphs"` // role by graph
		Roles  []string          `yaml:"roles"`  // custom roles in all graphs
		Claims map[string]any    `yaml:"claims"`
		Limits *string           `yaml:"limits"` // in the syntax of ParseLimits
	} `yaml:"tokens"`
}

// tokens is the content of a tokens file.
type tokens struct {
	byHash map[[sha256.Size]byte]*entry
}

// entry is a token of a tokens file.
type entry struct {
	of *tokens
	id *Identity
}

// readTokens reads a tokens file; percentages refer to whole.
func readTokens(path string, whole Limits) (*tokens, error) {
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
	ts := &tokens{byHash: map[[sha256.Size]byte]*entry{}}
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
		} else if len(t.Graphs)+len(t.Roles) == 0 {
			bad("role", errors.New("a token has a role, roles, or graphs with roles"))
		}
		for k, name := range t.Roles {
			if err := customRole(name); err != nil {
				bad(fmt.Sprintf("roles[%d]", k), err)
			}
		}
		id.Roles = t.Roles
		for name, x := range t.Claims {
			v, err := rules.ValueOf(x)
			if err != nil {
				bad("claims."+name, err)
				continue
			}
			if id.Claims == nil {
				id.Claims = map[string]graph.Value{}
			}
			id.Claims[name] = v
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
		if old := ts.byHash[key]; old != nil {
			bad("sha256", fmt.Errorf("is that of %s already", old.id.Name))
		}
		ts.byHash[key] = &entry{ts, id}
	}
	return ts, errors.Join(errs...)
}

// customRole returns why a name cannot be that of a custom role, or nil.
func customRole(name string) error {
	if name == "" {
		return errors.New("must not be empty")
	}
	if _, err := ParseRole(name); err == nil {
		return fmt.Errorf("%s is a built-in role: name it in role", name)
	}
	return nil
}

// NewToken generates a token and its entry for a tokens file.
func NewToken(name string, role Role) (token, entry string) {
	token, entry, err := NewTokenOf(&Identity{Name: name, Every: role})
	if err != nil {
		panic(err) // it has neither custom roles nor claims
	}
	return token, entry
}

// NewTokenOf generates a token of a caller, and its entry for a tokens file, with its role, custom roles and claims in all graphs.
func NewTokenOf(id *Identity) (token, entry string, err error) {
	token = "hop_" + strings.ToLower(rand.Text())
	sum := sha256.Sum256([]byte(token))
	entry = fmt.Sprintf("- {name: %q, sha256: %s", id.Name, hex.EncodeToString(sum[:]))
	if id.Every != None {
		entry += ", role: " + id.Every.String()
	}
	for _, name := range id.Roles {
		if err := customRole(name); err != nil {
			return "", "", fmt.Errorf("the custom role %q: %w", name, err)
		}
	}
	if len(id.Roles) > 0 {
		b, err := json.Marshal(id.Roles) // JSON is YAML too
		if err != nil {
			return "", "", err
		}
		entry += ", roles: " + string(b)
	}
	if len(id.Claims) > 0 {
		claims := map[string]rules.Constant{}
		for name, v := range id.Claims {
			claims[name] = rules.Constant{Value: v}
		}
		b, err := json.Marshal(claims)
		if err != nil {
			return "", "", err
		}
		entry += ", claims: " + string(b)
	}
	return token, entry + "}\n", nil
}
