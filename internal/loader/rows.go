package loader

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

// refused is a row that the parser excludes from a batch.
type refused struct {
	start, end   int // of its record in the chunk
	slot         int // of the offending column, or -1
	value        string
	code, reason string
}

// parsed is the result of parsing a chunk.
type parsed struct {
	rows    int // records, including refused ones
	batch   Batch
	refused []refused
	// vertices and edges count the rows of the batch.
	vertices, edges int
	// vertexRows and edgeRows hold, for each row of the batch's groups, the offset of its record in the chunk.
	vertexRows, edgeRows [][]uint32
	// vertexRules and edgeRules hold, for each group, the index of the input's vertex or edge rule that made it.
	vertexRules, edgeRules []int
}

// group holds rows of a batch that share everything except their values.
type group struct {
	rule     *ruleState
	names    []string // labels, or the type
	action   shard.Action
	seq      int // the order in which groups begin
	key, dst []graph.Value
	props    [][]graph.Value // empty up to the first value; see begin
	rows     []uint32
	n        int // complete rows
}

func (g *group) truncate() {
	g.key, g.rows = g.key[:g.n], g.rows[:g.n]
	if g.dst != nil {
		g.dst = g.dst[:g.n]
	}
	for i, column := range g.props {
		g.props[i] = column[:min(g.n, len(column))]
	}
}

// begin makes room in a column for the complete rows if v is its first value. A column without values takes no memory.
func (g *group) begin(column int, v graph.Value) bool {
	if v.IsNull() {
		return false
	}
	for range g.n {
		g.props[column] = append(g.props[column], graph.Value{})
	}
	return true
}

// ruleState holds the rows that a rule has made of a chunk, and the label sets or types that it has met in the file.
type ruleState struct {
	no     int // among the vertex or edge rules
	rule   *mapping.Rule
	vertex *mapping.VertexRule // or
	edge   *mapping.EdgeRule
	emit   bool // its rows are wanted; otherwise they are only checked
	sets   *labelSets
	groups []*group // the group that receives rows, by set and action; nil if there is none
	cells  []record.Cell
}

const actions = int(shard.Delete) + 1

// parser turns the chunks of one step into batches. It belongs to one goroutine.
type parser struct {
	step    *step
	bound   *mapping.Bound
	spaces  []*mapping.Space
	scan    scanner
	csv     *record.Scanner // scan, if it is one
	rules   []ruleState
	ctx     fn.Context
	scratch mapping.Scratch
	valid   bool // the chunk is valid UTF-8
	start   int
	undo    []*group
	reason  refused
	key     []byte
	joined  []byte // arena of joined keys
	out     *parsed
	begun   []*group // groups of this chunk
	order   ordering
	spare   []*group // groups of the last chunk, whose memory is reused

	onDuplicate shard.OnDuplicate // of rules that have none
}

func newParser(s *step, spaces []*mapping.Space, onDuplicate shard.OnDuplicate) *parser {
	p := &parser{step: s, bound: s.in.bound, spaces: spaces, onDuplicate: onDuplicate, scan: s.in.scanner()}
	p.csv, _ = p.scan.(*record.Scanner)
	for i := range p.bound.Vertices {
		r := &p.bound.Vertices[i]
		p.rules = append(p.rules, ruleState{no: i, rule: &r.Rule, vertex: r, emit: !s.edges, sets: newLabelSets(r.Labels)})
	}
	for i := range p.bound.Edges {
		r := &p.bound.Edges[i]
		p.rules = append(p.rules, ruleState{no: i, rule: &r.Rule, edge: r, emit: s.edges, sets: newLabelSets([]mapping.LabelRule{r.Type})})
	}
	return p
}

// parse reads a chunk. The values of the batch share the chunk's memory.
func (p *parser) parse(data []byte) *parsed {
	p.out = &parsed{}
	p.scratch.Reset()
	p.joined = nil
	p.valid = utf8.Valid(data)
	p.scan.Reset(data)
	for {
		cells, fault, ok := p.scan.Next()
		if !ok {
			break
		}
		p.out.rows++
		start, end := p.at()
		p.start = start
		if fault == nil && !p.valid && !utf8.Valid(data[start:end]) {
			fault = &record.Fault{Code: record.BadUTF8, Msg: "the row is not valid UTF-8", Column: invalid(cells)}
		}
		if fault == nil && p.bound.Cells > 0 && len(cells) != p.bound.Cells {
			fault = p.miscounted(len(cells))
			start, end = p.at()
		}
		if fault != nil {
			p.refuse(refused{start: start, end: end, slot: fault.Column, value: excerpt(data[start:end]), code: fault.Code, reason: fault.Msg})
			continue
		}
		if !p.row(cells) {
			p.reason.start, p.reason.end = start, end
			p.refuse(p.reason)
		}
	}
	p.collect()
	return p.out
}

func (p *parser) at() (start, end int) {
	if p.csv != nil {
		return p.csv.Start, p.csv.End
	}
	l := p.scan.(*record.Lines)
	return l.Start, l.End
}

// invalid returns the first cell that is not valid UTF-8, or -1.
func invalid(cells []record.Cell) int {
	return slices.IndexFunc(cells, func(c record.Cell) bool { return !utf8.Valid(c.Text) })
}

// miscounted describes a row with a wrong number of cells, n. If the row spans several lines, a stray quote may have joined them, so it
// blames only the first.
func (p *parser) miscounted(n int) *record.Fault {
	p.csv.Retreat()
	return &record.Fault{Code: record.BadColumns, Msg: fmt.Sprintf("the row has %d columns where the header has %d", n, p.bound.Cells), Column: -1}
}

// refuse records a refused row, unless an earlier pass over the input has done so.
func (p *parser) refuse(r refused) {
	if !p.step.again {
		p.out.refused = append(p.out.refused, r)
	}
}

// excerpt returns the beginning of text, for messages.
func excerpt(b []byte) string {
	const most = 200
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	if len(b) > most {
		b = b[:most]
	}
	return string(b)
}

// row applies all rules to a record, or none. On false, p.reason holds the reason.
func (p *parser) row(cells []record.Cell) bool {
	if holds, ok := p.holds(p.bound.Where, cells); !holds {
		return ok
	}
	p.undo = p.undo[:0]
	ok := true
	for i := range p.rules {
		if ok = p.apply(&p.rules[i], cells); !ok {
			break
		}
	}
	if !ok {
		for _, g := range p.undo {
			g.n--
			g.truncate()
		}
	}
	return ok
}

// holds tests an optional condition; ok is false if the test fails with an error.
func (p *parser) holds(c mapping.Cond, cells []record.Cell) (holds, ok bool) {
	if c == nil {
		return true, true
	}
	holds, err := c.Holds(cells, &p.ctx)
	if err != nil {
		return false, p.fail(-1, "", "BadCondition", err.Error())
	}
	return holds, true
}

func (p *parser) fail(slot int, value, code, reason string) bool {
	p.reason = refused{slot: slot, value: value, code: code, reason: reason}
	return false
}

// apply applies a rule to a record.
func (p *parser) apply(r *ruleState, cells []record.Cell) bool {
	if holds, ok := p.holds(r.rule.Where, cells); !holds {
		return ok
	}
	if len(r.rule.Unfold) == 0 {
		return p.make(r, cells)
	}
	r.cells = append(r.cells[:0], cells...)
	return p.unfold(r, 0)
}

// unfold makes a row of each element of the cells to unfold, in all combinations.
func (p *parser) unfold(r *ruleState, i int) bool {
	if i == len(r.rule.Unfold) {
		return p.make(r, r.cells)
	}
	slot := r.rule.Unfold[i]
	whole := r.cells[slot]
	ok := mapping.Unfold(whole, r.rule.ListDelimiter, func(c record.Cell) bool {
		r.cells[slot] = c
		return p.unfold(r, i+1)
	})
	r.cells[slot] = whole
	return ok
}

// make creates a vertex or an edge.
func (p *parser) make(r *ruleState, cells []record.Cell) bool {
	set := r.sets.find(cells)
	if bad := r.sets.bad[set]; bad >= 0 {
		return p.fail(bad, excerpt(cells[bad].Text), "UnknownLabel", "the mapping has no label or type for this value")
	}
	if r.edge != nil && len(r.sets.sets[set]) == 0 {
		return p.fail(r.edge.Type.Slot, "", "MissingType", "the edge has no type")
	}
	action := int(r.rule.Action.Fixed)
	if a := &r.rule.Action; a.Slot >= 0 {
		if c := cells[a.Slot]; !a.Conv.IsNull(c) {
			n := a.Values.Find(c.Text)
			if n < 0 {
				return p.fail(a.Slot, excerpt(c.Text), "UnknownAction", "the value is not an action")
			}
			action = int(a.Mapped[n])
		}
	}
	at := set*actions + action
	for at >= len(r.groups) {
		r.groups = append(r.groups, nil)
	}
	g := r.groups[at]
	if g == nil {
		g = p.begin(r, set, shard.Action(action))
		r.groups[at] = g
	}
	if !p.fill(r, g, cells) {
		g.truncate()
		return false
	}
	if p.order.late(g) {
		// A group that began later has a row of this vertex or edge, and this row must follow it.
		g.truncate()
		g = p.begin(r, set, shard.Action(action))
		r.groups[at] = g
		p.fill(r, g, cells)
		p.order.late(g)
	}
	g.rows = append(g.rows, uint32(p.start))
	g.n++
	p.undo = append(p.undo, g)
	return true
}

// fill appends the values of a row to its group.
func (p *parser) fill(r *ruleState, g *group, cells []record.Cell) bool {
	var ok bool
	if r.vertex != nil {
		if g.key, ok = p.appendKey(g.key, &r.vertex.ID, cells); !ok {
			return false
		}
	} else {
		if g.key, ok = p.appendKey(g.key, &r.edge.From, cells); !ok {
			return false
		}
		if g.dst, ok = p.appendKey(g.dst, &r.edge.To, cells); !ok {
			return false
		}
	}
	for i := range r.rule.Props {
		q := &r.rule.Props[i]
		v := q.Constant
		if q.Slot >= 0 {
			if v, ok = q.Conv.Value(cells[q.Slot], &p.scratch); !ok {
				return p.fail(q.Slot, excerpt(cells[q.Slot].Text), "BadType", noValue(q.Conv.Type))
			}
		}
		if len(g.props[i]) > 0 || g.begin(i, v) {
			g.props[i] = append(g.props[i], v)
		}
	}
	return true
}

// noValue says that a cell is no value of the type.
func noValue(t mapping.Type) string {
	if t == (mapping.Type{}) {
		return "a property cannot hold the value"
	}
	return "the value is no " + t.String()
}

// keySeparator separates the parts of a joined key.
const keySeparator = 0x1f

func (p *parser) appendKey(dst []graph.Value, k *mapping.KeyRule, cells []record.Cell) ([]graph.Value, bool) {
	if len(k.Slots) == 1 {
		c := cells[k.Slots[0]]
		if v, ok := k.Conv.Digits(c); ok {
			return append(dst, v), true
		}
		if k.Conv.IsNull(c) || len(c.Text) == 0 {
			return dst, p.fail(k.Slots[0], "", "MissingKey", "the row has no key")
		}
		v, ok := k.Conv.Value(c, &p.scratch)
		if !ok || v.Kind() == graph.List {
			return dst, p.fail(k.Slots[0], excerpt(c.Text), "BadType", "the key is no "+k.Conv.Type.String())
		}
		return append(dst, v), true
	}
	p.key = p.key[:0]
	for i, s := range k.Slots {
		c := cells[s]
		if k.Conv.IsNull(c) {
			return dst, p.fail(s, "", "MissingKey", "the row has no key")
		}
		if i > 0 {
			p.key = append(p.key, keySeparator)
		}
		for _, b := range c.Text {
			if b == keySeparator {
				p.key = append(p.key, b)
			}
			p.key = append(p.key, b)
		}
	}
	from := len(p.joined)
	p.joined = append(p.joined, p.key...)
	text := p.joined[from:]
	return append(dst, graph.StringValue(unsafe.String(unsafe.SliceData(text), len(text)))), true
}

// begin starts a group, reusing memory if possible.
func (p *parser) begin(r *ruleState, set int, action shard.Action) *group {
	var g *group
	for i, s := range p.spare {
		if len(s.props) == len(r.rule.Props) && (s.dst != nil) == (r.edge != nil) {
			g = s
			p.spare = slices.Delete(p.spare, i, i+1)
			g.n = 0
			g.truncate()
			break
		}
	}
	if g == nil {
		g = &group{props: make([][]graph.Value, len(r.rule.Props))}
		if r.edge != nil {
			g.dst = []graph.Value{}
		}
	}
	g.rule, g.names, g.action, g.seq = r, r.sets.sets[set], action, len(p.begun)
	p.begun = append(p.begun, g)
	p.order.add(g)
	return g
}

// collect moves the groups into the batch.
func (p *parser) collect() {
	b := &p.out.batch
	for i := range p.rules {
		clear(p.rules[i].groups)
	}
	p.order.reset()
	for _, g := range p.begun {
		r := g.rule
		if !r.emit || g.n == 0 {
			p.spare = append(p.spare, g)
			continue
		}
		props := make([]PropertyColumn, 0, len(g.props))
		for k, values := range g.props {
			if len(values) > 0 {
				props = append(props, PropertyColumn{Name: r.rule.Props[k].Name, Values: values, Strategy: r.rule.Props[k].Strategy})
			}
		}
		if r.vertex != nil {
			b.Vertices = append(b.Vertices, VertexRows{
				Labels: g.names, Space: p.space(&r.vertex.ID), Keys: g.key, Props: props, Action: g.action,
				OnDuplicate: *cmp.Or(r.vertex.OnDuplicate, &p.onDuplicate),
			})
			p.out.vertexRows, p.out.vertexRules = append(p.out.vertexRows, g.rows), append(p.out.vertexRules, r.no)
			continue
		}
		b.Edges = append(b.Edges, EdgeRows{
			Type: g.names[0], SrcSpace: p.space(&r.edge.From), DstSpace: p.space(&r.edge.To), Src: g.key, Dst: g.dst, Props: props,
			Action: g.action, Dangling: r.edge.Dangling,
		})
		p.out.edgeRows, p.out.edgeRules = append(p.out.edgeRows, g.rows), append(p.out.edgeRules, r.no)
	}
	p.begun = p.begun[:0]
}

// reuse takes back the memory of a batch's columns once the batch is no longer in use. It leaves the rows, which others keep.
func (p *parser) reuse(b *Batch) {
	for i := range b.Vertices {
		v := &b.Vertices[i]
		p.spare = append(p.spare, &group{key: v.Keys, props: valuesOf(v.Props)})
	}
	for i := range b.Edges {
		e := &b.Edges[i]
		p.spare = append(p.spare, &group{key: e.Src, dst: e.Dst, props: valuesOf(e.Props)})
	}
	for _, g := range p.spare {
		clear(g.key[:cap(g.key)])
		clear(g.dst[:cap(g.dst)])
		for _, vs := range g.props {
			clear(vs[:cap(vs)])
		}
	}
	b.Vertices, b.Edges = nil, nil
}

func valuesOf(ps []PropertyColumn) [][]graph.Value {
	out := make([][]graph.Value, len(ps))
	for i := range ps {
		out[i] = ps[i].Values
	}
	return out
}

func (p *parser) space(k *mapping.KeyRule) int { return slices.Index(p.spaces, k.Space) }
