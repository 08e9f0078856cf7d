package algo

import (
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// config is the argument of a call.
type config struct {
	labels        []graph.LabelID // none: all
	labelNames    []string
	types         []graph.TypeID // none: all
	direction     graph.Direction
	weight        string // the property of edges, or ""
	weightID      graph.PropID
	maxIterations int
	damping       float64
	tolerance     float64
	source        graph.VertexID // or graph.NoVertex
	samples       int
	seed          int64
	topK          int
	writeProperty string
}

// WriteKey is the key of the argument that makes a call write.
const WriteKey = "writeProperty"

// keys read the entries of the argument; p names the procedure and the entry.
var keys = map[string]func(c *config, call *runtime.Call, p string, v graph.Value) error{
	"labels": func(c *config, call *runtime.Call, p string, v graph.Value) (err error) {
		if c.labelNames, err = names(p, v); err != nil {
			return err
		}
		for _, name := range c.labelNames {
			id, ok := call.Graph.Label(name)
			if !ok {
				return invalid("%s: there is no label `%s`", p, name)
			}
			c.labels = append(c.labels, id)
		}
		return nil
	},
	"types": func(c *config, call *runtime.Call, p string, v graph.Value) error {
		list, err := names(p, v)
		if err != nil {
			return err
		}
		for _, name := range list {
			id, ok := call.Graph.Type(name)
			if !ok {
				return invalid("%s: there is no edge type `%s`", p, name)
			}
			c.types = append(c.types, id)
		}
		return nil
	},
	"direction": func(c *config, _ *runtime.Call, p string, v graph.Value) error {
		at := -1
		if v.Kind() == graph.String {
			at = slices.Index([]string{"out", "in", "both"}, strings.ToLower(v.Str()))
		}
		if at < 0 {
			return invalid("%s must be 'out', 'in' or 'both', not %s", p, notation.Describe(v))
		}
		c.direction = graph.Direction(at)
		return nil
	},
	"weight": func(c *config, call *runtime.Call, p string, v graph.Value) (err error) {
		if c.weight, err = name(p, v); err != nil {
			return err
		}
		var ok bool
		if c.weightID, ok = call.Graph.Prop(c.weight); !ok {
			return invalid("%s: nothing has a property `%s`", p, c.weight)
		}
		return nil
	},
	"maxIterations": func(c *config, _ *runtime.Call, p string, v graph.Value) (err error) {
		c.maxIterations, err = whole(p, v, 0, 1<<20)
		return err
	},
	"damping": func(c *config, _ *runtime.Call, p string, v graph.Value) (err error) {
		c.damping, err = number(p, v, 0, 1)
		return err
	},
	"tolerance": func(c *config, _ *runtime.Call, p string, v graph.Value) (err error) {
		c.tolerance, err = number(p, v, 0, math.MaxFloat64)
		return err
	},
	"source": func(c *config, _ *runtime.Call, p string, v graph.Value) error {
		if v.Kind() != graph.VertexKind {
			return invalid("%s must be a node, not %s", p, notation.Describe(v))
		}
		c.source = v.Vertex()
		return nil
	},
	"samples": func(c *config, _ *runtime.Call, p string, v graph.Value) (err error) {
		c.samples, err = whole(p, v, 1, math.MaxInt32)
		return err
	},
	"seed": func(c *config, _ *runtime.Call, p string, v graph.Value) error {
		if v.Kind() != graph.Int {
			return invalid("%s must be an integer, not %s", p, notation.Describe(v))
		}
		c.seed = v.Int()
		return nil
	},
	"topK": func(c *config, _ *runtime.Call, p string, v graph.Value) (err error) {
		c.topK, err = whole(p, v, 1, 1<<20)
		return err
	},
	WriteKey: func(c *config, _ *runtime.Call, p string, v graph.Value) (err error) {
		c.writeProperty, err = name(p, v)
		return err
	},
}

// read reads the argument of a call of a.
func (c *config) read(a *Algorithm, call *runtime.Call) error {
	*c = a.defaults
	c.source = graph.NoVertex
	arg := call.Args[0]
	if arg.IsNull() {
		arg = graph.MapValue(nil)
	}
	if arg.Kind() != graph.Map {
		return invalid("%s: the argument must be a map, not %s", a.Name, notation.Describe(arg))
	}
	for _, e := range arg.Map() {
		if !slices.Contains(a.keys, e.Key) {
			return invalid("%s: there is no `%s`; there are %s", a.Name, e.Key, strings.Join(a.keys, ", "))
		}
		if e.Value.IsNull() {
			continue
		}
		if err := keys[e.Key](c, call, a.Name+": "+e.Key, e.Value); err != nil {
			return err
		}
	}
	if slices.Contains(a.required, "source") && c.source == graph.NoVertex {
		return invalid("%s: source must be given, a node", a.Name)
	}
	if c.writeProperty != "" && !call.Run.Program.Query.Writes {
		return invalid("%s: %s must be a literal, not a parameter, so that the statement is known to write", a.Name, WriteKey)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return graph.RuntimeError("ArgumentError", "InvalidArgumentValue", format, args...)
}

// name reads a string that is not empty.
func name(p string, v graph.Value) (string, error) {
	if v.Kind() != graph.String || v.Str() == "" {
		return "", invalid("%s must be a string that is not empty, not %s", p, notation.Describe(v))
	}
	return v.Str(), nil
}

// names reads a string or a list of them.
func names(p string, v graph.Value) (list []string, err error) {
	vals := []graph.Value{v}
	if v.Kind() == graph.List {
		vals = v.List()
	}
	for _, v := range vals {
		n, err := name(p, v)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list, nil
}

func whole(p string, v graph.Value, least, most int64) (int, error) {
	if v.Kind() != graph.Int || v.Int() < least || v.Int() > most {
		return 0, invalid("%s must be an integer from %d to %d, not %s", p, least, most, notation.Describe(v))
	}
	return int(v.Int()), nil
}

func number(p string, v graph.Value, least, most float64) (float64, error) {
	if !v.IsNumber() || !(v.Number() >= least && v.Number() <= most) {
		return 0, invalid("%s must be a number from %g to %g, not %s", p, least, most, notation.Describe(v))
	}
	return v.Number(), nil
}
