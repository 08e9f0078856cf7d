package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// Rule is what requests of a method with a tag must be like.
type Rule struct {
	Method    string // post, put, delete, gets or heads
	Tag       string
	Version   int64  // of the client's interface, from 1
	Structure string // JSON

	root *structure
}

// methods are those whose requests have rules. Those of get and head are open to all callers, as in APIJSON.
var methods = []string{"post", "put", "delete", "gets", "heads"}

// stored is the kind of the definitions that are rules of requests.
var stored = definition.Register("request", func(name string, value []byte) (*Rule, error) {
	method, rest, _ := strings.Cut(name, " ")
	version, tag, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return nil, err
	}
	r := &Rule{Method: method, Tag: tag, Version: n, Structure: string(value)}
	return r, r.complete()
})

func (r *Rule) name() string { return r.Method + " " + strconv.FormatInt(r.Version, 10) + " " + r.Tag }

// Put returns the change of a graph's definitions that adds a rule, or replaces that of the same method, tag and version.
func Put(r Rule) (definition.Change, error) {
	r.Method = strings.ToLower(r.Method)
	if err := r.complete(); err != nil {
		return definition.Change{}, graph.RequestError(graph.KindInvalid, "InvalidRequestRule", "the rule of %s %s: %v", r.Method, r.Tag, err)
	}
	return definition.Change{Put: []definition.Record{stored.Record(r.name(), []byte(r.Structure))}}, nil
}

// Drop returns the change that drops a rule.
func Drop(method, tag string, version int64) definition.Change {
	r := Rule{Method: strings.ToLower(method), Tag: tag, Version: version}
	return definition.Change{Drop: []definition.Ref{stored.Ref(r.name())}}
}

// Of returns the rules of a graph; they must not be changed.
func Of(s *definition.Set) []*Rule { return stored.All(s) }

// find returns the rule for a request's version: the least version from it on, or the greatest for none.
func find(all []*Rule, method, tag string, version int64) (best *Rule) {
	for _, r := range all {
		if r.Method != method || r.Tag != tag || r.Version < version {
			continue
		}
		if best == nil || (r.Version < best.Version) == (version > 0) {
			best = r
		}
	}
	return best
}

// complete checks a rule and reads its structure.
func (r *Rule) complete() error {
	switch {
	case !slices.Contains(methods, r.Method):
		return fmt.Errorf("the method %q must be post, put, delete, gets or heads", r.Method)
	case r.Tag == "" || len(r.Tag) > 1024:
		return fmt.Errorf("the tag must have 1 to 1,024 bytes, not %d", len(r.Tag))
	case r.Version < 1:
		return fmt.Errorf("the version must be 1 or greater, not %d", r.Version)
	}
	doc, err := syntax.ParseJSON([]byte(r.Structure), nil, nil)
	if err != nil {
		return err
	}
	root := doc.Root
	if root.Get(r.Tag) == nil && syntax.IsTableKey(strings.TrimSuffix(r.Tag, "[]")) {
		key, err := json.Marshal(r.Tag)
		if err != nil {
			return err
		}
		if doc, err = syntax.ParseJSON([]byte("{"+string(key)+": "+r.Structure+"}"), nil, nil); err != nil {
			return err
		}
		root = doc.Root
	}
	r.root, err = structureOf(root, "")
	return err
}
