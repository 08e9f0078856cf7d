package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

// stored is the kind of the definitions that are rules. The name of each is its key, which has all of it.
var stored = definition.Register("rule", func(key string, _ []byte) (Rule, error) { return decode(key) })

// Of returns the rules among the definitions of a graph; they must not be changed. It is the same slice until one of them changes.
func Of(s *definition.Set) []Rule { return stored.All(s) }

// Changed returns the change of a graph's definitions that adds and removes rules. It changes nothing for a rule to add that there is, or one
// to remove that there is not; rules are equal if their keys are. A malformed rule to add is graph.KindInvalid.
func Changed(add, remove []Rule) (c definition.Change, err error) {
	for i := range add {
		if err := add[i].checkAdd(i); err != nil {
			return c, err
		}
		c.Put = append(c.Put, stored.Record(add[i].Key(), nil))
	}
	for i := range remove {
		c.Drop = append(c.Drop, stored.Ref(remove[i].Key()))
	}
	return c, nil
}

// decode returns the rule of a key. One with something that it does not know, of a newer version perhaps, is an error, since without
// it the rules may permit more than they should.
func decode(key string) (r Rule, err error) {
	d := json.NewDecoder(strings.NewReader(key))
	d.DisallowUnknownFields()
	if err = d.Decode(&r); err == nil {
		err = r.check()
	}
	if err == nil && d.More() {
		err = errors.New("more than one value")
	}
	if err != nil {
		return Rule{}, fmt.Errorf("rule %s: %w", key, err)
	}
	return r, nil
}

// Change returns rules with those of add and without those of remove, and whether they differ from before; rules are equal if their keys
// are. A malformed rule to add is graph.KindInvalid.
func Change(all, add, remove []Rule) (next []Rule, changed bool, err error) {
	keys := map[string]bool{}
	for i := range remove {
		keys[remove[i].Key()] = true
	}
	next = slices.DeleteFunc(slices.Clone(all), func(r Rule) bool { return keys[r.Key()] })
	changed = len(next) != len(all)
	clear(keys)
	for i := range next {
		keys[next[i].Key()] = true
	}
	for i := range add {
		if err := add[i].checkAdd(i); err != nil {
			return nil, false, err
		}
		if key := add[i].Key(); !keys[key] {
			keys[key], changed = true, true
			next = append(next, add[i])
		}
	}
	return next, changed, nil
}

// checkAdd returns why rule i of those to add is malformed, or nil.
func (r *Rule) checkAdd(i int) error {
	if err := r.check(); err != nil {
		return graph.RequestError(graph.KindInvalid, "InvalidRule", "rule %d: %v", i+1, err)
	}
	return nil
}

// check returns why a rule is malformed, or nil.
func (r *Rule) check() error {
	switch {
	case r.Effect != Grant && r.Effect != Deny:
		return fmt.Errorf("the effect %q is not known", r.Effect)
	case !slices.Contains(actions, r.Action):
		return fmt.Errorf("the action %q is not known", r.Action)
	case r.Role == "":
		return errors.New("there is no role")
	case len(r.Props) > 0 && !r.Action.OfProperties():
		return fmt.Errorf("%s has no properties", r.Action)
	case r.Where == nil:
		return nil
	}
	if err := r.Where.check(); err != nil {
		return err
	}
	_, err := json.Marshal(r.Where) // its constants have a form
	return err
}

// check returns why a condition is malformed, or nil.
func (c *Condition) check() error {
	of, with := 0, 0
	switch c.Op {
	case And, Or:
		of = max(1, len(c.Of))
	case Not:
		of = 1
	case Equal, Unequal, Less, LessEqual, More, MoreEqual, In:
		with = 1
	case IsNull, IsNotNull:
	default:
		return fmt.Errorf("the operator %q is not known", c.Op)
	}
	has := 0
	if c.With != nil {
		has = 1
	}
	if len(c.Of) != of || has != with || (c.Prop != "") != (of == 0) || has == 1 && (c.With.Claim != "") == (c.With.Const != nil) {
		return fmt.Errorf("the operator %q has not the operands that it needs", c.Op)
	}
	for _, x := range c.Of {
		if x == nil {
			return fmt.Errorf("the operator %q has not the operands that it needs", c.Op)
		}
		if err := x.check(); err != nil {
			return err
		}
	}
	return nil
}
