package fn

import (
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// zone is the default zone.
func (ctx *Context) zone() temporal.Zone { return temporal.ZoneOf(ctx.Zone) }

// instant is a kind of instant and the constructors of its values.
type instant struct {
	name, typ string
	kind      Kinds
	value     graph.ValueKind
	build     func(ctx *Context, f *temporal.Fields) (graph.Value, error)
	convert   func(ctx *Context, p temporal.Parts) (graph.Value, error)
	truncate  func(ctx *Context, u temporal.Unit, p temporal.Parts, f *temporal.Fields) (graph.Value, error)
}

var instants = []instant{
	{
		name: "date", typ: "DATE", kind: Date, value: graph.Date,
		build: func(_ *Context, f *temporal.Fields) (graph.Value, error) {
			t, err := f.MakeDate()
			return graph.DateValue(t), err
		},
		convert: func(_ *Context, p temporal.Parts) (graph.Value, error) {
			t, err := p.ToDate()
			return graph.DateValue(t), err
		},
		truncate: func(_ *Context, u temporal.Unit, p temporal.Parts, f *temporal.Fields) (graph.Value, error) {
			t, err := temporal.TruncateDate(u, p, f)
			return graph.DateValue(t), err
		},
	},
	{
		name: "localtime", typ: "LOCAL TIME", kind: LocalTime, value: graph.LocalTime,
		build: func(_ *Context, f *temporal.Fields) (graph.Value, error) {
			t, err := f.MakeLocalTime()
			return graph.LocalTimeValue(t), err
		},
		convert: func(_ *Context, p temporal.Parts) (graph.Value, error) {
			t, err := p.ToLocalTime()
			return graph.LocalTimeValue(t), err
		},
		truncate: func(_ *Context, u temporal.Unit, p temporal.Parts, f *temporal.Fields) (graph.Value, error) {
			t, err := temporal.TruncateLocalTime(u, p, f)
			return graph.LocalTimeValue(t), err
		},
	},
	{
		name: "time", typ: "ZONED TIME", kind: Time, value: graph.Time,
		build: func(ctx *Context, f *temporal.Fields) (graph.Value, error) {
			t, err := f.MakeTime(ctx.zone(), ctx.Statement)
			return graph.TimeValue(t), err
		},
		convert: func(ctx *Context, p temporal.Parts) (graph.Value, error) {
			t, err := p.ToTime(ctx.zone(), ctx.Statement)
			return graph.TimeValue(t), err
		},
		truncate: func(ctx *Context, u temporal.Unit, p temporal.Parts, f *temporal.Fields) (graph.Value, error) {
			t, err := temporal.TruncateTime(u, p, f, ctx.zone(), ctx.Statement)
			return graph.TimeValue(t), err
		},
	},
	{
		name: "localdatetime", typ: "LOCAL DATETIME", kind: LocalDateTime, value: graph.LocalDateTime,
		build: func(_ *Context, f *temporal.Fields) (graph.Value, error) {
			t, err := f.MakeLocalDateTime()
			return graph.LocalDateTimeValue(t), err
		},
		convert: func(_ *Context, p temporal.Parts) (graph.Value, error) {
			t, err := p.ToLocalDateTime()
			return graph.LocalDateTimeValue(t), err
		},
		truncate: func(_ *Context, u temporal.Unit, p temporal.Parts, f *temporal.Fields) (graph.Value, error) {
			t, err := temporal.TruncateLocalDateTime(u, p, f)
			return graph.LocalDateTimeValue(t), err
		},
	},
	{
		name: "datetime", typ: "ZONED DATETIME", kind: DateTime, value: graph.DateTime,
		build: func(ctx *Context, f *temporal.Fields) (graph.Value, error) {
			t, err := f.MakeDateTime(ctx.zone())
			return graph.DateTimeValue(t), err
		},
		convert: func(ctx *Context, p temporal.Parts) (graph.Value, error) {
			t, err := p.ToDateTime(ctx.zone())
			return graph.DateTimeValue(t), err
		},
		truncate: func(ctx *Context, u temporal.Unit, p temporal.Parts, f *temporal.Fields) (graph.Value, error) {
			t, err := temporal.TruncateDateTime(u, p, f, ctx.zone())
			return graph.DateTimeValue(t), err
		},
	},
}

var temporalFunctions = makeTemporalFunctions()

func makeTemporalFunctions() []Function {
	var all []Function
	for i := range instants {
		all = append(all, instants[i].functions()...)
	}
	return append(all,
		Function{
			Name: "format", MinArgs: 1, MaxArgs: 2, Deterministic: true, Eval: strict(format),
			Result:      String | Null,
			Signature:   "format(value :: temporal [, pattern :: STRING]) :: STRING",
			Description: "The text of an instant or a duration, by a pattern of Java's DateTimeFormatter if one is given.",
		},
		Function{
			Name: "datetime.fromEpoch", MinArgs: 2, MaxArgs: 2,
			Result:      DateTime | Null,
			Signature:   "datetime.fromEpoch(seconds :: INTEGER | FLOAT, nanoseconds :: INTEGER | FLOAT) :: ZONED DATETIME",
			Description: "The date-time so many seconds and nanoseconds after 1970-01-01T00:00Z.",
			Eval: strict(func(ctx *Context, args []graph.Value) (graph.Value, error) {
				sec, err := intArg("datetime.fromEpoch", args[0])
				if err != nil {
					return null, err
				}
				nanos, err := intArg("datetime.fromEpoch", args[1])
				if err != nil {
					return null, err
				}
				t, err := temporal.FromEpoch(sec, nanos, ctx.zone())
				return temporalResult(graph.DateTimeValue(t), err)
			}),
		},
		Function{
			Name: "datetime.fromEpochMillis", MinArgs: 1, MaxArgs: 1,
			Result:      DateTime | Null,
			Signature:   "datetime.fromEpochMillis(milliseconds :: INTEGER | FLOAT) :: ZONED DATETIME",
			Description: "The date-time so many milliseconds after 1970-01-01T00:00Z.",
			Eval: strict(func(ctx *Context, args []graph.Value) (graph.Value, error) {
				ms, err := intArg("datetime.fromEpochMillis", args[0])
				if err != nil {
					return null, err
				}
				t, err := temporal.FromEpochMillis(ms, ctx.zone())
				return temporalResult(graph.DateTimeValue(t), err)
			}),
		},
	)
}

func format(_ *Context, args []graph.Value) (graph.Value, error) {
	v := args[0]
	p, instant := parts(v)
	if !instant && v.Kind() != graph.Duration {
		return null, badArgument("format", v, "a temporal value")
	}
	if len(args) == 1 {
		return graph.StringValue(string(graph.AppendTemporal(nil, v))), nil
	}
	pattern, err := textArg("format", args[1])
	if err != nil {
		return null, err
	}
	text := ""
	if instant {
		text, err = p.Format(pattern)
	} else {
		text, err = v.Duration().Format(pattern)
	}
	return temporalResult(graph.StringValue(text), err)
}

// functions creates the constructor, the clocks and the truncation of one kind of instants.
func (in *instant) functions() []Function {
	clock := func(suffix, when string, now func(ctx *Context) time.Time) Function {
		name := in.name + "." + suffix
		return Function{
			Name: name, MaxArgs: 1,
			Result:      in.kind | Null,
			Signature:   name + "([timezone :: STRING]) :: " + in.typ,
			Description: "The time " + when + ", in the default zone or in the one given.",
			Eval: strict(func(ctx *Context, args []graph.Value) (graph.Value, error) {
				return in.now(ctx, name, now(ctx), args)
			}),
		}
	}
	truncate := in.name + ".truncate"
	return []Function{
		{
			Name: in.name, MaxArgs: 1, Stable: true,
			Result:      in.kind | Null,
			Signature:   in.name + "([value :: STRING | MAP | temporal]) :: " + in.typ,
			Description: "Reads a text, joins a map of fields, or takes the parts out of another instant; else the current time.",
			Eval:        strict(in.make),
		},
		clock("statement", "when the statement began", func(ctx *Context) time.Time { return ctx.Statement }),
		clock("transaction", "when the transaction began", func(ctx *Context) time.Time { return ctx.Transaction }),
		clock("realtime", "now", func(*Context) time.Time { return time.Now() }),
		{
			Name: truncate, MinArgs: 1, MaxArgs: 3, Stable: true,
			Result:      in.kind | Null,
			Signature:   truncate + "(unit :: STRING [, input :: temporal [, fields :: MAP]]) :: " + in.typ,
			Description: "The beginning of the unit that holds the instant, then with the fields that are given.",
			Eval:        strict(in.truncated),
		},
	}
}

func (in *instant) now(ctx *Context, name string, now time.Time, args []graph.Value) (graph.Value, error) {
	zone := ctx.zone()
	if len(args) == 1 {
		v := args[0]
		if v.Kind() == graph.Map {
			if v = v.Get("timezone"); v.IsNull() {
				return null, badArgument(name, args[0], "a time zone")
			}
		}
		text, err := textArg(name, v)
		if err != nil {
			return null, err
		}
		if zone, err = temporal.ParseZone(text); err != nil {
			return null, graph.TemporalError(err)
		}
	}
	return temporalResult(in.convert(ctx, temporal.FromTime(now, zone).Parts()))
}

func (in *instant) make(ctx *Context, args []graph.Value) (graph.Value, error) {
	if len(args) == 0 {
		return in.now(ctx, in.name, ctx.Statement, nil)
	}
	switch v := args[0]; v.Kind() {
	case graph.String:
		return temporalResult(graph.ParseTemporal(in.value, v.Str(), ctx.zone(), ctx.Statement))
	case graph.Map:
		f, err := fieldsOf(in.name, v.Map())
		if err != nil {
			return null, err
		}
		if f.ZoneOnly() {
			return temporalResult(in.convert(ctx, temporal.FromTime(ctx.Statement, *f.Zone).Parts()))
		}
		return temporalResult(in.build(ctx, f))
	default:
		p, ok := parts(v)
		if !ok {
			return null, badArgument(in.name, v, "a String, Map or temporal value")
		}
		return temporalResult(in.convert(ctx, p))
	}
}

func (in *instant) truncated(ctx *Context, args []graph.Value) (graph.Value, error) {
	name := in.name + ".truncate"
	text, err := textArg(name, args[0])
	if err != nil {
		return null, err
	}
	unit, err := temporal.UnitByName(text)
	if err != nil {
		return null, graph.TemporalError(err)
	}
	p := temporal.FromTime(ctx.Statement, ctx.zone()).Parts()
	if len(args) > 1 {
		var ok bool
		if p, ok = parts(args[1]); !ok {
			return null, badArgument(name, args[1], "an instant")
		}
	}
	f := new(temporal.Fields)
	if len(args) > 2 {
		if args[2].Kind() != graph.Map {
			return null, badArgument(name, args[2], "a Map")
		}
		if f, err = fieldsOf(name, args[2].Map()); err != nil {
			return null, err
		}
	}
	return temporalResult(in.truncate(ctx, unit, p, f))
}

// fieldsOf parses the map argument of an instant's constructor. It ignores null entries.
func fieldsOf(name string, m []graph.MapEntry) (*temporal.Fields, error) {
	f := new(temporal.Fields)
	for _, e := range m {
		if e.Value.IsNull() {
			continue
		}
		var base **temporal.Parts
		switch e.Key {
		case "date":
			base = &f.Date
		case "time":
			base = &f.Time
		case "datetime":
			base = &f.DateTime
		case "timezone":
			text, err := textArg(name, e.Value)
			if err != nil {
				return nil, err
			}
			z, err := temporal.ParseZone(text)
			if err != nil {
				return nil, graph.TemporalError(err)
			}
			f.Zone = &z
			continue
		}
		if base != nil {
			p, ok := parts(e.Value)
			if !ok {
				return nil, badArgument(name, e.Value, "an instant as "+e.Key)
			}
			*base = &p
			continue
		}
		field, ok := temporal.FieldByName(e.Key)
		if !ok {
			return nil, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "%s() has no field %q", name, e.Key)
		}
		n, err := intArg(name, e.Value)
		if err != nil {
			return nil, err
		}
		f.Set(field, n)
	}
	return f, nil
}

func temporalResult(v graph.Value, err error) (graph.Value, error) {
	if err != nil {
		return null, graph.TemporalError(err)
	}
	return v, nil
}
