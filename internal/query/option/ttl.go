package option

import (
	"context"
	"math"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/shard"
)

func invalidTTL(detail, format string, args ...any) error {
	return graph.SchemaError(graph.KindInvalid, "ClientError.Schema.SchemaRuleCreationFailed", detail, format, args...)
}

// AlterTTL runs CREATE LABEL, ALTER LABEL and the same of relationship types.
func AlterTTL(ctx context.Context, g shard.Graph, c *cypher.AlterTTL, params map[string]graph.Value) error {
	name := c.Label + c.Type
	if c.Remove {
		err := g.DropTTL(ctx, c.Label, c.Type)
		if err != nil && graph.AsError(err).Kind == graph.KindNotFound {
			return graph.SchemaError(graph.KindNotFound, "ClientError.Schema.ConstraintNotFound", "NotFound", "%s has no TTL", name)
		}
		return err
	}
	options, err := TTL(c, params)
	if err != nil {
		return err
	}
	old := graph.FindTTL(g.TTLs(), c.Label, c.Type)
	switch {
	case c.Create && old != nil && c.IfNotExists:
		return nil
	case c.Create && old != nil:
		return graph.SchemaError(graph.KindExists, "ClientError.Schema.EquivalentSchemaRuleAlreadyExists", "TTLExists", "%s has a TTL already; ALTER changes it", name)
	case c.Create && len(options) == 0:
		return internName(ctx, g, c)
	}
	t := graph.TTL{Label: c.Label, Type: c.Type}
	if old != nil {
		t = *old // options that are not named keep their values
	}
	drop, err := setTTL(&t, options)
	switch {
	case err != nil:
		return err
	case drop && old == nil:
		return nil
	case drop:
		return g.DropTTL(ctx, c.Label, c.Type)
	case t.After == 0:
		return graph.SchemaError(graph.KindInvalid, "ClientError.Schema.SchemaRuleCreationFailed", "InvalidTTL", "the options of %s name no ttl", name)
	}
	return g.SetTTL(ctx, t)
}

// internName adds a label or a relationship type to the catalog.
func internName(ctx context.Context, g shard.Graph, c *cypher.AlterTTL) error {
	tx, err := g.Begin(ctx, shard.Write)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if c.Type != "" {
		_, err = tx.Type(c.Type)
	} else {
		_, err = tx.Label(c.Label)
	}
	return err
}

// TTL returns the options of a command by their names.
func TTL(c *cypher.AlterTTL, params map[string]graph.Value) (map[string]graph.Value, error) {
	options := map[string]graph.Value{}
	if c.Whole != nil {
		v, err := Value(c.Whole, params)
		if err != nil {
			return nil, err
		}
		if v.Kind() != graph.Map {
			return nil, graph.TypeError("InvalidArgumentType", "OPTIONS must be a map")
		}
		for _, e := range v.Map() {
			options[e.Key] = e.Value
		}
	}
	for name, x := range c.Options {
		var err error
		if options[name], err = Value(x, params); err != nil {
			return nil, err
		}
	}
	return options, nil
}

// setTTL sets the named options; drop reports whether the TTL ends.
func setTTL(t *graph.TTL, options map[string]graph.Value) (drop bool, err error) {
	for name, v := range options {
		switch {
		case name == "ttl" && v.IsNull():
			drop = true
		case name == "ttl":
			if t.After, err = lifetime(v); err != nil {
				return false, err
			}
		case name == "property" && v.IsNull():
			t.Property = ""
		case name == "property" && v.Kind() == graph.String:
			t.Property = v.Str()
		case name == "property":
			return false, graph.TypeError("InvalidArgumentType", "the option property must be the name of a property")
		default:
			return false, invalidTTL("UnknownOption",
				"there is no option %s; there are ttl and property", name)
		}
	}
	return drop, nil
}

// lifetime parses a duration, its text, or a number of seconds.
func lifetime(v graph.Value) (time.Duration, error) {
	d := temporal.Duration{}
	switch v.Kind() {
	case graph.Duration:
		d = v.Duration()
	case graph.String:
		var err error
		if d, err = temporal.ParseDuration(v.Str()); err != nil {
			return 0, invalidTTL("InvalidTTL", "the ttl %q is not a duration", v.Str())
		}
	default:
		var ok bool
		if d.Seconds, ok = v.Whole(); ok {
			break
		}
		return 0, graph.TypeError("InvalidArgumentType", "a ttl must be a duration, the text of one or a number of seconds, not a value of type %s", v.Kind())
	}
	const day = 86400
	most := int64(math.MaxInt64/time.Second) - 1
	switch {
	case d.Months != 0:
		return 0, invalidTTL("InvalidTTL", "a ttl has no months or years, whose lengths differ; say days")
	case d.Days > most/day/2 || d.Days < -most/day/2 || d.Seconds > most/2 || d.Seconds < -most/2:
		return 0, invalidTTL("InvalidTTL", "a ttl is at most 146 years")
	}
	after := time.Duration(d.Days*day+d.Seconds)*time.Second + time.Duration(d.Nanos)
	if after <= 0 {
		return 0, invalidTTL("InvalidTTL", "a ttl is longer than nothing")
	}
	return after, nil
}
