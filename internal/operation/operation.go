package operation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// Operation is a trusted operation. One that has been read from a graph must not be changed.
type Operation struct {
	// Name has letters, digits and underscores, 64 at most, and begins with no digit.
	Name        string  `json:"-"`
	Description string  `json:"description,omitempty"`
	Params      []Param `json:"params,omitempty"`
	// Roles are the custom roles that may run the operation; without any, all callers may who have the built-in role operations or a higher
	// one, or a custom role.
	Roles []string `json:"roles,omitempty"`
	// Route is the route of a fetch or a traversal: get, head, gets, heads, post, put, delete, traverse, path, subgraph, vertices or edges; "" for
	// a statement.
	Route string `json:"route,omitempty"`
	// Statement is the text without the comments that describe it: a statement, or the body of the route, in which {"$param": "name"} stands
	// for the value of a parameter.
	Statement string `json:"statement"`
	// Write says that the operation changes the graph.
	Write bool `json:"write,omitempty"`
	// Single says that it gives one row at most.
	Single   bool `json:"single,omitempty"`
	Disabled bool `json:"disabled,omitempty"`
	// Version grows, from 1, with each change of the operation.
	Version uint64 `json:"version"`
	// Indexes describe the indexes in which its plan sought when it was put.
	Indexes []string `json:"indexes,omitempty"`
	// ID is the name by which clients of a manifest call the operation, if it is not the hash.
	ID string `json:"id,omitempty"`
	// Hash is the SHA-256 of Statement in hexadecimal digits.
	Hash string `json:"-"`

	body []piece // of a fetch or a traversal
}

// Param is a parameter.
type Param struct {
	Name        string          `json:"name"`
	Type        Type            `json:"type"`
	Default     json.RawMessage `json:"default,omitempty"` // JSON; empty: a call must have the parameter
	Description string          `json:"description,omitempty"`

	value graph.Value // of Default
}

// Required reports whether a call must have the parameter.
func (p *Param) Required() bool { return len(p.Default) == 0 }

// stored is the kind of the definitions that are operations.
var stored = definition.Register("operation", func(name string, value []byte) (*Operation, error) {
	o := &Operation{Name: name}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(o); err != nil {
		return nil, err
	}
	return o, o.complete()
})

// All returns the operations of a graph in order of their names; they must not be changed.
func All(s *definition.Set) []*Operation { return stored.All(s) }

// Get returns an operation by name, or nil.
func Get(s *definition.Set, name string) *Operation {
	o, _ := stored.Get(s, name)
	return o
}

// ByHash returns an operation by its hash, or the id that its manifest gave it, or nil.
func ByHash(s *definition.Set, hash string) *Operation {
	all := stored.All(s)
	i := slices.IndexFunc(all, func(o *Operation) bool { return o.Hash == hash || o.ID == hash && hash != "" })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Put returns the change of a graph's definitions that adds operations and replaces those of their names. It changes nothing for one that is
// as it was; another one gets the next version, and stays disabled if it was.
func Put(s *definition.Set, all []*Operation) (c definition.Change, err error) {
	c.If = s.Version()
	for _, o := range all {
		next := *o
		next.Version = 1
		if old := Get(s, o.Name); old != nil {
			next.Version, next.Disabled = old.Version, old.Disabled
			if !next.same(old) {
				next.Version++
			}
		}
		r, err := next.record()
		if err != nil {
			return definition.Change{}, err
		}
		c.Put = append(c.Put, r)
	}
	return c, nil
}

// Enable returns the change that enables an operation, or disables it.
func (o *Operation) Enable(s *definition.Set, enabled bool) (c definition.Change, err error) {
	next := *o
	next.Disabled = !enabled
	r, err := next.record()
	return definition.Change{If: s.Version(), Put: []definition.Record{r}}, err
}

// Drop returns the change that drops an operation.
func (o *Operation) Drop() definition.Change {
	return definition.Change{Drop: []definition.Ref{stored.Ref(o.Name)}}
}

// same reports whether two operations are the same but for what their plans were like.
func (o *Operation) same(p *Operation) bool {
	x, y := *o, *p
	x.Indexes, y.Indexes, x.Single, y.Single = nil, nil, false, false
	a, errA := x.record()
	b, errB := y.record()
	return errA == nil && errB == nil && bytes.Equal(a.Value, b.Value)
}

func (o *Operation) record() (definition.Record, error) {
	if err := o.complete(); err != nil {
		return definition.Record{}, graph.RequestError(graph.KindInvalid, "InvalidOperation", "operation %s: %v", o.Name, err)
	}
	value, err := json.Marshal(o)
	if err != nil {
		return definition.Record{}, graph.InternalError("an operation has no stored form", err)
	}
	return stored.Record(o.Name, value), nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// complete checks an operation and sets what follows from its fields.
func (o *Operation) complete() error {
	if !nameForm.MatchString(o.Name) {
		return fmt.Errorf("the name %q must have letters, digits and underscores, 64 at most, and begin with no digit", o.Name)
	}
	if o.Statement == "" {
		return errors.New("there is no statement")
	}
	o.Params = slices.Clone(o.Params)
	for i := range o.Params {
		p := &o.Params[i]
		if !nameForm.MatchString(p.Name) || slices.ContainsFunc(o.Params[:i], func(q Param) bool { return q.Name == p.Name }) {
			return fmt.Errorf("the parameter %q is there twice, or its name is not made of letters, digits and underscores", p.Name)
		}
		if err := p.complete(); err != nil {
			return fmt.Errorf("the parameter %s: %w", p.Name, err)
		}
	}
	if o.Route != "" {
		if routes[o.Route] == "" {
			return fmt.Errorf("the route %q is none of a fetch or a traversal: %s", o.Route, routeNames)
		}
		var err error
		if o.body, err = o.parseBody(); err != nil {
			return err
		}
	}
	sum := sha256.Sum256([]byte(o.Statement))
	o.Hash = hex.EncodeToString(sum[:])
	if o.ID == o.Hash {
		o.ID = ""
	}
	return nil
}

func (p *Param) complete() error {
	if err := p.Type.check(); err != nil {
		return err
	}
	if p.Required() {
		return nil
	}
	v, err := notation.ReadJSON(jsontext.NewDecoder(bytes.NewReader(p.Default)))
	if err == nil {
		p.value, err = p.Type.value(v)
	}
	if err != nil {
		return fmt.Errorf("the default %s: %w", p.Default, err)
	}
	return nil
}

// May reports whether a caller with custom roles may run the operation. One with the built-in role admin may run each.
func (o *Operation) May(roles []string) bool {
	return len(o.Roles) == 0 || slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(o.Roles, r) })
}

// State is an operation with what it is like now.
type State struct {
	*Operation
	// Problem is why the operation cannot be planned, which label, type or property it names that the graph lacks, or which index its plan has
	// lost; "" if nothing is wrong.
	Problem string
	// Columns are those of the result of a statement; nil if it cannot be planned.
	Columns []Column
}

// Column is a column of a result.
type Column struct {
	Name  string
	Types []string // JSON types that its values may have, in ascending order; nil: any
}

// Schema returns the JSON Schema of the values, which may be null.
func (c *Column) Schema() map[string]any {
	out := map[string]any{"title": c.Name}
	if c.Types != nil {
		out["type"] = append(slices.Clone(c.Types), "null")
	}
	return out
}

// State returns enabled, disabled, or broken.
func (s *State) State() string {
	switch {
	case s.Disabled:
		return "disabled"
	case s.Problem != "":
		return "broken"
	}
	return "enabled"
}
