package query

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/procedure"
	"github.com/hopgate/hopgate/internal/query/steps"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/shard"
)

// source is the text of a statement with its literals. Statements that differ only in lifted literals share a plan.
type source struct {
	text     string
	literals []parse.Literal
}

// preparer turns texts and typed requests into plans that can run, and caches them.
type preparer struct {
	store   shard.Store
	procs   *procedure.Registry
	plans   planCache
	texts   planCache // the lifted literals of texts; separate, so that new texts evict no plan
	metrics watch.Metrics
}

func (e *preparer) key(g shard.Graph, kind keyKind, text string) planKey {
	return planKey{g: g, text: text, procs: e.procs.Version(), kind: kind}
}

// prepare returns the prepared form of a statement, from the cache if the graph still matches the plan.
func (e *preparer) prepare(ctx context.Context, g shard.Graph, text string) (_ *prepared, err error) {
	defer steps.Catch(&err)
	src := source{text: text}
	mark := func(literals []parse.Literal, count *steps.Counter) (*plan.Query, cypher.Command, error) {
		return cypher.Compile(text, cypher.Options{Procedures: e.procs.Signature, ProcedureNames: e.procs.Names, Literals: literals, Steps: count})
	}
	// Compiling marks literals, which others may read before it ends.
	compile := func(count *steps.Counter) (*plan.Query, cypher.Command, error) {
		return mark(slices.Clone(src.literals), count)
	}
	whole := e.key(g, wholeText, text)
	if p := e.plans.get(whole); p != nil {
		return e.prepareBy(ctx, whole, p, src, compile)
	}
	if known := e.texts.get(whole); known != nil {
		return e.prepareLifted(ctx, e.key(g, liftedText, known.lifted), known.from, func(count *steps.Counter) (*plan.Query, cypher.Command, error) {
			return mark(slices.Clone(known.from.literals), count)
		})
	}
	count := countFor(ctx)
	if src.literals = parse.Literals(text, cypher.IsLiteralName, count); len(src.literals) == 0 {
		return e.prepareBy(ctx, whole, nil, src, compile)
	}
	shape := e.key(g, shapeText, src.without(func(*parse.Literal) bool { return true }))
	if known := e.plans.get(shape); known != nil {
		for i := range src.literals {
			src.literals[i].Lifted = known.from.literals[i].Lifted
		}
	} else {
		q, command, err := mark(src.literals, count)
		if err != nil {
			e.metrics.PlanMisses.Add(1)
			return nil, err
		}
		e.plans.put(shape, &prepared{from: src})
		compile = func(*steps.Counter) (*plan.Query, cypher.Command, error) { return q, command, nil }
	}
	lifted := func(l *parse.Literal) bool { return l.Lifted }
	if !src.any(lifted) {
		return e.prepareBy(ctx, whole, nil, source{text: text}, compile)
	}
	key := e.key(g, liftedText, src.without(lifted))
	if len(text) <= shortText {
		e.texts.put(whole, &prepared{from: src, lifted: key.text})
	}
	return e.prepareLifted(ctx, key, src, compile)
}

// countFor returns a counter whose work ends with a context.
func countFor(ctx context.Context) *steps.Counter {
	return &steps.Counter{Alive: func() error {
		if ctx.Err() != nil {
			return graph.DeadlineError(context.Cause(ctx))
		}
		return nil
	}}
}

// shortText is the length up to which the literals of a text are cached.
const shortText = 4 << 10

// prepareLifted returns the prepared form of a statement whose literals become parameters of its plan.
func (e *preparer) prepareLifted(
	ctx context.Context, key planKey, src source, compile func(*steps.Counter) (*plan.Query, cypher.Command, error),
) (*prepared, error) {
	p, err := e.prepareBy(ctx, key, e.plans.get(key), src, compile)
	if err != nil {
		return nil, err
	}
	own := *p
	own.asked = src
	return &own, nil
}

// maxPlannedHops is the highest length that has its own plan if a parameter sets it.
const maxPlannedHops = 8

// prepareWith returns the prepared form of a statement that runs with params. Lengths of a few hops are planned as if written
// in the text, because they decide how a pattern is matched; one plan serves all other lengths.
func (e *preparer) prepareWith(ctx context.Context, g shard.Graph, text string, params map[string]graph.Value) (*prepared, error) {
	p, err := e.prepare(ctx, g, text)
	if err != nil || len(p.hops) == 0 {
		return p, err
	}
	src, name := p.asked, text
	if src.literals == nil {
		src = source{text: text}
	} else {
		src.literals = slices.Clone(src.literals) // compiling marks them, and the cached plan shares them
		name = src.without(func(l *parse.Literal) bool { return l.Lifted })
	}
	var b strings.Builder
	b.WriteString(name)
	for _, hop := range p.hops {
		n, ok := params[hop].Whole()
		if !ok || n < 0 || n > maxPlannedHops {
			e.metrics.PlanHits.Add(1)
			return p, nil
		}
		b.WriteByte(0)
		b.WriteByte(byte('0' + n))
	}
	key := e.key(g, hopsText, b.String())
	set, err := e.prepareBy(ctx, key, e.plans.get(key), src, func(count *steps.Counter) (*plan.Query, cypher.Command, error) {
		q, command, err := cypher.Compile(text, cypher.Options{
			Procedures: e.procs.Signature, ProcedureNames: e.procs.Names, Literals: src.literals, Steps: count,
		})
		if err == nil && command == nil {
			plan.SetHops(q, params)
		}
		return q, command, err
	})
	if err != nil {
		return nil, err
	}
	own := *set
	own.asked = p.asked
	return &own, nil
}

func (s *source) any(of func(*parse.Literal) bool) bool {
	for i := range s.literals {
		if of(&s.literals[i]) {
			return true
		}
	}
	return false
}

// without returns the text with some of the literals replaced by their kind. No statement has a zero byte where a literal may
// begin.
func (s *source) without(these func(*parse.Literal) bool) string {
	var b strings.Builder
	b.Grow(len(s.text))
	at := 0
	for i := range s.literals {
		l := &s.literals[i]
		if !these(l) {
			continue
		}
		b.WriteString(s.text[at:l.Start])
		b.WriteByte(0)
		b.WriteByte(byte('a' + l.Value.Kind()))
		at = l.End
	}
	b.WriteString(s.text[at:])
	return b.String()
}

// bind adds the lifted literals to the parameters of a request.
func (p *prepared) bind(params map[string]graph.Value) map[string]graph.Value {
	if p.asked.literals == nil {
		return params
	}
	all := make(map[string]graph.Value, len(params)+len(p.asked.literals))
	maps.Copy(all, params)
	for i := range p.asked.literals {
		if l := &p.asked.literals[i]; l.Lifted {
			all[cypher.LiteralName(i)] = l.Value
		}
	}
	return all
}

// placed moves an error's position from the planned text to the text of the request.
func (p *prepared) placed(err error) error {
	var e *graph.Error
	if p.asked.literals == nil || !errors.As(err, &e) || e.Pos.Line == 0 {
		return err
	}
	moved := *e
	moved.Pos = p.place(e.Pos)
	return &moved
}

// place converts a position in the planned text to one in the text of the request.
func (p *prepared) place(pos graph.Pos) graph.Pos {
	shift := 0
	for i := range p.from.literals {
		a, b := &p.from.literals[i], &p.asked.literals[i]
		if a.Offset >= pos.Offset {
			break
		}
		shift = b.Offset + b.Runes - a.Offset - a.Runes
	}
	return placeOf(p.asked.text, pos.Offset+shift)
}

// placeOf returns the position of a character by its number.
func placeOf(text string, offset int) graph.Pos {
	pos := graph.Pos{Line: 1, Column: 1}
	for ; pos.Offset < offset && text != ""; pos.Offset++ {
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if pos.Column++; r == '\n' {
			pos.Line, pos.Column = pos.Line+1, 1
		}
	}
	return pos
}

// notifications returns the notifications of a statement, with positions in the text of the request.
func (p *prepared) notifications(g shard.Graph) []plan.Notification {
	list := p.notices.At(g)
	if len(list) == 0 || p.asked.literals == nil {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		if list[i].Pos.Line > 0 {
			list[i].Pos = p.place(list[i].Pos)
		}
	}
	return list
}
