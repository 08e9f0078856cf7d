package option

import (
	"context"
	"strings"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/shard"
)

// LogMode is the option of a graph that says how much its commit log keeps, as Neo4j names it.
const LogMode = "txLogEnrichment"

// defaultMode is the mode of a graph that sets none.
const defaultMode = changelog.Diff

func badGraphOption(format string, args ...any) error {
	e := graph.RuntimeError("ArgumentError", "InvalidArgumentValue", format, args...)
	e.Code = "Neo.ClientError.General.InvalidArguments"
	return e
}

// Set sets the options of a graph of a store.
type Set func(ctx context.Context, store shard.Store) error

// Created returns what sets the options of CREATE GRAPH, if they are right.
func Created(c *cypher.CreateGraph, params map[string]graph.Value) (Set, error) {
	none := func(context.Context, shard.Store) error { return nil }
	if c.Options == nil {
		return none, nil
	}
	v, err := Value(c.Options, params)
	if err != nil {
		return nil, err
	}
	if v.Kind() != graph.Map {
		return nil, badGraphOption("OPTIONS must be a Map, not %s", notation.Describe(v))
	}
	set := none
	for _, o := range v.Map() {
		mode, err := logMode(o.Key, o.Value)
		if err != nil {
			return nil, err
		}
		set = setMode(c.Name, mode)
	}
	return set, nil
}

// Altered returns what sets the option of ALTER GRAPH for a graph, if it is right.
func Altered(c *cypher.AlterGraph, name string, params map[string]graph.Value) (Set, error) {
	v := graph.StringValue(defaultMode.String())
	if c.Value != nil {
		var err error
		if v, err = Value(c.Value, params); err != nil {
			return nil, err
		}
	}
	mode, err := logMode(c.Option, v)
	return setMode(name, mode), err
}

// logMode reads the one option that graphs have.
func logMode(key string, v graph.Value) (changelog.Mode, error) {
	if !strings.EqualFold(key, LogMode) {
		return 0, badGraphOption("a graph has no option %s; it has %s", key, LogMode)
	}
	if v.Kind() == graph.String {
		if mode, err := changelog.ParseMode(strings.ToUpper(v.Str())); err == nil {
			return mode, nil
		}
	}
	return 0, badGraphOption("%s is 'FULL', 'DIFF' or 'OFF', not %s", LogMode, notation.Describe(v))
}

func setMode(name string, mode changelog.Mode) Set {
	return func(ctx context.Context, store shard.Store) error {
		g, err := store.Graph(name)
		if err != nil {
			return err
		}
		log := g.ChangeLog()
		switch {
		case log != nil:
			return log.SetLogMode(ctx, mode)
		case mode == changelog.Off:
			return nil
		}
		return shard.LogOff(name)
	}
}

// Options returns the options of a graph: a map. st is the state of its log, or nil if it has none.
func Options(st *shard.LogState) graph.Value {
	mode := changelog.Off
	if st != nil {
		mode = st.Mode
	}
	return graph.MapValue([]graph.MapEntry{{Key: LogMode, Value: graph.StringValue(mode.String())}})
}
