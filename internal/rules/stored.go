package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Encode returns the stored form of rules: a JSON array.
func Encode(all []Rule) ([]byte, error) { return json.Marshal(all) }

// Decode returns the rules of their stored form. A rule with something that it does not know, of a newer version perhaps, is an error,
// since without it the rules may permit more than they should.
func Decode(stored []byte) ([]Rule, error) {
	var texts []json.RawMessage
	if err := json.Unmarshal(stored, &texts); err != nil {
		return nil, err
	}
	all := make([]Rule, len(texts))
	for i, text := range texts {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err := d.Decode(&all[i])
		if err == nil {
			err = all[i].check()
		}
		if err != nil {
			return nil, fmt.Errorf("rule %d, %s: %w", i+1, text, err)
		}
	}
	return all, nil
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
		if err := add[i].check(); err != nil {
			return nil, false, graph.RequestError(graph.KindInvalid, "InvalidRule", "rule %d: %v", i+1, err)
		}
		if key := add[i].Key(); !keys[key] {
			keys[key], changed = true, true
			next = append(next, add[i])
		}
	}
	return next, changed, nil
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
