// Package option computes the options of commands: constants, parameters, lists and maps of them, and the settings of indexes that maps give. It
// runs the commands that are nothing but options, those of TTLs.
package option

import (
	"fmt"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/search"
)

// Value computes an option of a command: constants, parameters, lists and maps of them, and functions of them.
func Value(x plan.Expr, params map[string]graph.Value) (graph.Value, error) {
	switch x := x.(type) {
	case *plan.Const:
		return x.Value, nil
	case *plan.Param:
		v, ok := params[x.Name]
		if !ok {
			return v, graph.MissingParameters(x.Name)
		}
		return v, nil
	case *plan.ListLit:
		vs, err := values(x.Elems, params)
		return graph.ListValue(vs), err
	case *plan.MapLit:
		vs, err := values(x.Elems, params)
		if err != nil {
			return graph.Value{}, err
		}
		entries := make([]graph.MapEntry, len(vs))
		for i, v := range vs {
			entries[i] = graph.MapEntry{Key: x.Keys[i], Value: v}
		}
		return graph.MapValue(entries), nil
	case *plan.Op:
		if x.Op == plan.Neg {
			v, err := Value(x.Args[0], params)
			if err != nil {
				return v, err
			}
			return fn.Neg(v)
		}
	case *plan.Call:
		if f, ok := fn.Lookup(x.Func); ok {
			args, err := values(x.Args, params)
			if err != nil {
				return graph.Value{}, err
			}
			return f.Eval(&fn.Context{}, args)
		}
	}
	return graph.Value{}, graph.InternalError("compute an option", fmt.Errorf("no constant: %T", x))
}

func values(xs []plan.Expr, params map[string]graph.Value) ([]graph.Value, error) {
	vs := make([]graph.Value, len(xs))
	for i, x := range xs {
		var err error
		if vs[i], err = Value(x, params); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

// Name returns the name of an index or a constraint that a command gives by itself or by a parameter.
func Name(name, param string, params map[string]graph.Value) (string, error) {
	if param == "" {
		return name, nil
	}
	v, ok := params[param]
	switch {
	case !ok:
		return "", graph.MissingParameters(param)
	case v.Kind() != graph.String || v.Str() == "":
		return "", graph.TypeError("InvalidArgumentType", "the name in $%s must be a String that is not empty, not %s", param, notation.Describe(v))
	}
	return v.Str(), nil
}

// badOptions is the error of Neo4j's for OPTIONS that an index of a kind cannot have.
func badOptions(kind graph.IndexKind, format string, args ...any) error {
	e := graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "a "+strings.ToLower(kind.String())+" index cannot be made: "+format, args...)
	e.Code = "Neo.ClientError.General.InvalidArguments"
	return e
}

// settings calls set with the settings in the OPTIONS of an index; nil has none.
func settings(kind graph.IndexKind, x plan.Expr, params map[string]graph.Value, set func(key string, v graph.Value) error) error {
	if x == nil {
		return nil
	}
	v, err := Value(x, params)
	if err != nil {
		return err
	}
	if v.Kind() != graph.Map {
		return badOptions(kind, "OPTIONS must be a Map, not %s", notation.Describe(v))
	}
	for _, e := range v.Map() {
		switch {
		case e.Key == "indexProvider" && e.Value.Kind() == graph.String && e.Value.Str() == kind.Provider():
		case e.Key == "indexProvider":
			return badOptions(kind, "indexProvider is '%s', not %s", kind.Provider(), notation.Describe(e.Value))
		case e.Key != "indexConfig":
			return badOptions(kind, "there is no option %s; there are indexConfig and indexProvider", e.Key)
		case e.Value.Kind() != graph.Map:
			return badOptions(kind, "indexConfig must be a Map, not %s", notation.Describe(e.Value))
		default:
			for _, c := range e.Value.Map() {
				if err := set(c.Key, c.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Text returns the settings that the OPTIONS of a full-text index set.
func Text(x plan.Expr, params map[string]graph.Value) (graph.TextOptions, error) {
	o := graph.TextOptions{Analyzer: graph.DefaultAnalyzer}
	err := settings(graph.FullTextIndex, x, params, func(key string, v graph.Value) error {
		switch key {
		case "fulltext.analyzer":
			if v.Kind() != graph.String {
				return badOptions(graph.FullTextIndex, "%s is the name of an analyzer, not %s", key, notation.Describe(v))
			}
			if _, err := search.FindAnalyzer(v.Str()); err != nil {
				return badOptions(graph.FullTextIndex, "%s", graph.AsError(err).Msg)
			}
			o.Analyzer = v.Str()
			return nil
		case "fulltext.eventually_consistent":
			if v.Kind() != graph.Bool {
				return badOptions(graph.FullTextIndex, "%s is true or false, not %s", key, notation.Describe(v))
			}
			o.Eventual = v.Bool()
			return nil
		}
		return badOptions(graph.FullTextIndex, "there is no setting %s; there are fulltext.analyzer and fulltext.eventually_consistent", key)
	})
	return o, err
}

// Vector returns the settings that the OPTIONS of a vector index set.
func Vector(x plan.Expr, params map[string]graph.Value) (graph.VectorOptions, error) {
	o := graph.DefaultVectorOptions
	err := settings(graph.VectorIndex, x, params, func(key string, v graph.Value) error { return setVectorOption(&o, key, v) })
	return o, err
}

// setVectorOption sets an entry of indexConfig.
func setVectorOption(o *graph.VectorOptions, key string, v graph.Value) error {
	switch key {
	case "vector.dimensions":
		return setBounded(&o.Dimensions, key, v, graph.MaxDimensions)
	case "vector.hnsw.m":
		o.HNSW = true
		return setBounded(&o.M, key, v, 512)
	case "vector.hnsw.ef_construction":
		o.HNSW = true
		return setBounded(&o.EfConstruction, key, v, 3200)
	case "vector.quantization.enabled":
		if v.Kind() != graph.Bool {
			return badOptions(graph.VectorIndex, "%s is true or false, not %s", key, notation.Describe(v))
		}
		o.Quantized = v.Bool()
		return nil
	case "vector.similarity_function":
		var ok bool
		if v.Kind() == graph.String {
			o.Similarity, ok = graph.ParseSimilarity(v.Str())
		}
		if !ok {
			return badOptions(graph.VectorIndex, "%s is 'cosine' or 'euclidean', not %s", key, notation.Describe(v))
		}
		return nil
	}
	return badOptions(graph.VectorIndex, "there is no setting %s; there are vector.dimensions, vector.similarity_function, vector.quantization.enabled, "+
		"vector.hnsw.m and vector.hnsw.ef_construction", key)
}

func setBounded(to *int, key string, v graph.Value, most int64) error {
	n, ok := v.Whole()
	if !ok || n < 1 || n > most {
		return badOptions(graph.VectorIndex, "%s is an Integer from 1 to %d, not %s", key, most, notation.Describe(v))
	}
	*to = int(n)
	return nil
}
