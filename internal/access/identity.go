package access

import (
	"fmt"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// Role is a permission level in a graph; a higher one includes those below it.
type Role uint8

// The roles.
const (
	None       Role = iota
	Operations      // run trusted operations, with the rights that each of them needs
	Fetcher         // send JSON-array fetches, subject to the access rules of fetches
	Reader          // read data and schema
	Writer          // change data and schema
	Admin           // create and drop graphs, end requests of others, back up, repair, profile
)

var roleNames = [...]string{None: "none", Operations: "operations", Fetcher: "fetcher", Reader: "reader", Writer: "writer", Admin: "admin"}

// String returns the role's name.
func (r Role) String() string { return roleNames[r] }

// ParseRole parses the name of a role other than None.
func ParseRole(name string) (Role, error) {
	for r := Operations; r <= Admin; r++ {
		if roleNames[r] == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("must be operations, fetcher, reader, writer or admin, is %q", name)
}

// Identity is an authenticated caller.
type Identity struct {
	Name   string
	Issuer string          // of the JSON Web Token; "" for the tokens file
	Every  Role            // role in all graphs
	Graph  map[string]Role // roles in single graphs, if above Every
	// Roles are the caller's custom roles in all graphs, and GraphRoles those in single graphs. Access rules say what they may do; by
	// themselves they permit nothing.
	Roles      []string
	GraphRoles map[string][]string
	// Claims are what is known of the caller beside its roles: booleans, numbers, strings and lists of them. Access rules compare them.
	Claims map[string]graph.Value
	// Limits are the caller's own; nil means the common limits.
	Limits *Limits
	// Expires is when the token expires, or the zero time.
	Expires time.Time
}

// Subject identifies the caller.
func (id *Identity) Subject() Subject { return Subject{id.Issuer, id.Name} }

// In returns the caller's role in a graph.
func (id *Identity) In(graphName string) Role { return max(id.Every, id.Graph[graphName]) }

// RolesIn returns the caller's custom roles in a graph.
func (id *Identity) RolesIn(graphName string) []string {
	return slices.Concat(id.Roles, id.GraphRoles[graphName])
}

// CustomIn reports whether the caller has custom roles in a graph, and no built-in one.
func (id *Identity) CustomIn(graphName string) bool {
	return id.In(graphName) == None && len(id.Roles)+len(id.GraphRoles[graphName]) > 0
}

// highest returns the caller's highest role in any graph.
func (id *Identity) highest() Role {
	r := id.Every
	for _, other := range id.Graph {
		r = max(r, other)
	}
	return r
}
