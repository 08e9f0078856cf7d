package grpcapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
)

// putQueue is the number of record batches of a load that wait to be applied.
const putQueue = 8

// loadCommand is the descriptor of a load, as JSON: it says which columns of the record batches hold what.
type loadCommand struct {
	Graph    string         `json:"graph"`
	ID       string         `json:"id"`       // the identity of the load; without one it cannot resume
	Restart  bool           `json:"restart"`  // discard the progress of an earlier run
	Forget   bool           `json:"forget"`   // discard the progress at the end of the stream
	Unlogged bool           `json:"unlogged"` // keep the changes out of the commit log
	Vertices *vertexColumns `json:"vertices"`
	Edges    *edgeColumns   `json:"edges"`
}

// vertexColumns maps columns to vertices.
type vertexColumns struct {
	Labels     []string         `json:"labels"`
	Key        string           `json:"key"`        // the column of the external keys
	Property   string           `json:"property"`   // that holds them, of the first label; "": as the column
	Properties []propertyColumn `json:"properties"` // null: all columns
	Action     string           `json:"action"`
	// OnDuplicate is one of shard.OnDuplicateNames, or "".
	OnDuplicate string `json:"onDuplicate"`
}

// edgeColumns maps columns to edges.
type edgeColumns struct {
	Type       string           `json:"type"`
	From       endColumn        `json:"from"`
	To         endColumn        `json:"to"`
	Properties []propertyColumn `json:"properties"` // null: all columns but those of the ends
	Action     string           `json:"action"`
	OnDangling string           `json:"onDangling"`
}

// endColumn is the end of an edge: a vertex by its key, which is a property of its label.
type endColumn struct {
	Column   string `json:"column"`
	Label    string `json:"label"`
	Property string `json:"property"`
}

type propertyColumn struct {
	Name     string `json:"name"`
	Column   string `json:"column"` // "": as the property
	Strategy string `json:"strategy"`

	index int
}

var (
	actionNames   = map[string]shard.Action{"": shard.Upsert, "upsert": shard.Upsert, "insert": shard.Insert, "update": shard.Update, "delete": shard.Delete}
	danglingNames = map[string]shard.Dangling{
		"": shard.DanglingReject, "reject": shard.DanglingReject, "create": shard.DanglingCreate, "skip": shard.DanglingSkip,
	}
	strategyNames = map[string]shard.Strategy{
		"": shard.Override, "OVERRIDE": shard.Override, "SUM": shard.Sum, "BIGGER": shard.Bigger, "SMALLER": shard.Smaller, "UNION": shard.Union,
		"INTERSECTION": shard.Intersection, "APPEND": shard.Append, "ELIMINATE": shard.Eliminate,
	}
)

// putBatch is a record batch of a load.
type putBatch struct {
	number batchNumber
	rows   arrow.RecordBatch
}

// batchNumber is the metadata of a record batch, as JSON.
type batchNumber struct {
	Seq       uint64 `json:"seq"`       // from 1; 0: one more than the last
	Confirmed uint64 `json:"confirmed"` // the last batch whose rejected rows the client has received
}

// putLoad loads the record batches of a stream.
func (s *flightService) putLoad(stream flight.FlightService_DoPutServer, descriptor []byte) error {
	var c loadCommand
	if err := wire.DecodeJSON(descriptor, true, &c); err != nil {
		return wire.GRPCError(err)
	}
	r, err := flight.NewRecordReader(stream)
	if err != nil {
		return wire.GRPCError(unreadable(stream.Context(), err))
	}
	columns, err := c.bind(r.Schema())
	if err != nil {
		r.Release()
		return wire.GRPCError(err)
	}
	session, err := s.load.begin(stream.Context(), &columns.open)
	if err != nil {
		r.Release()
		return wire.GRPCError(err)
	}
	defer session.Close()
	defer request.Hurry()()
	opened := session.Opened()
	if err := putResult(stream, putOpened{opened.Seq, putCounts{opened.Counts.Vertices, opened.Counts.Edges}, putAcks(opened.Refused)}); err != nil {
		r.Release()
		return err
	}
	err = applyAll(stream.Context(), s.load, columns.open.Graph, session, incoming[putBatch]{
		method: "/arrow.flight.protocol.FlightService/DoPut", queue: putQueue, decode: columns.decode,
		receive: func(ctx context.Context, to chan<- putBatch) error {
			defer r.Release()
			return receiveRows(ctx, r, to)
		},
		ack: func(a *loader.Ack) error { return putResult(stream, putAck(a)) },
	})
	if err == nil && c.Forget && c.ID != "" {
		if err = session.Forget(stream.Context()); err != nil {
			err = wire.GRPCError(err)
		}
	}
	return err
}

// receiveRows queues record batches until the client has sent its last.
func receiveRows(ctx context.Context, r *flight.Reader, to chan<- putBatch) error {
	last := uint64(0)
	for r.Next() {
		b := putBatch{rows: r.RecordBatch()}
		if m := r.LatestAppMetadata(); len(m) > 0 {
			if err := wire.DecodeJSON(m, true, &b.number); err != nil {
				return err
			}
		}
		if b.number.Seq == 0 {
			b.number.Seq = last + 1
		}
		if b.number.Seq <= last {
			return wire.RequestError(fmt.Sprintf("seq: must grow from batch to batch, was %d after %d", b.number.Seq, last))
		}
		last = b.number.Seq
		b.rows.Retain()
		select {
		case to <- b:
		case <-ctx.Done():
			return nil
		}
	}
	if err := r.Err(); err != nil {
		return unreadable(ctx, err)
	}
	return nil
}

// unreadable is the error for Arrow data that cannot be read, unless the call has ended.
func unreadable(ctx context.Context, err error) error {
	if gone := ctx.Err(); gone != nil {
		return graph.DeadlineError(gone)
	}
	return wire.RequestError("the record batches: " + err.Error())
}

// putOpened is the first answer to a load: the progress of an earlier run.
type putOpened struct {
	Opened uint64 `json:"opened"`
	putCounts
	Refused []putApplied `json:"refused,omitempty"`
}

// putApplied acknowledges a batch.
type putApplied struct {
	Seq      uint64 `json:"seq"`
	Vertices int    `json:"vertices"`
	Edges    int    `json:"edges"`
	putCounts
	Rejected []putRejected `json:"rejected,omitempty"`
}

// putCounts say what applied rows did.
type putCounts struct {
	VertexCounts shard.RowCounts `json:"vertexCounts,omitzero"`
	EdgeCounts   shard.RowCounts `json:"edgeCounts,omitzero"`
}

// putRejected is a refused row, by its number in the batch.
type putRejected struct {
	Row     int    `json:"row"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func putAck(a *loader.Ack) putApplied {
	out := putApplied{
		Seq: a.Seq, Vertices: a.Counts.Vertices.Applied(), Edges: a.Counts.Edges.Applied(), putCounts: putCounts{a.Counts.Vertices, a.Counts.Edges},
	}
	for _, r := range a.Rejected {
		out.Rejected = append(out.Rejected, putRejected{r.Row, r.Code, r.Msg})
	}
	return out
}

func putAcks(acks []loader.Ack) (out []putApplied) {
	for i := range acks {
		out = append(out, putAck(&acks[i]))
	}
	return out
}

// putResult answers with v.
func putResult(stream flight.FlightService_DoPutServer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return wire.GRPCError(graph.InternalError("flight", err))
	}
	return stream.Send(&flight.PutResult{AppMetadata: b})
}

// loadColumns are the columns of a load.
type loadColumns struct {
	open               loader.Open
	labels             []string // of vertices
	typ                string   // of edges
	keys, from, to     int      // numbers of columns
	fromSpace, toSpace int
	properties         []propertyColumn
	strategies         []shard.Strategy
	action             shard.Action
	dangling           shard.Dangling
	duplicate          shard.OnDuplicate
	edges              bool
}

// bind finds the columns of a load in the schema of its record batches.
func (c *loadCommand) bind(schema *arrow.Schema) (*loadColumns, error) {
	out := &loadColumns{open: loader.Open{Graph: c.Graph, Stream: c.ID, Restart: c.Restart, Confirms: true, Unlogged: c.Unlogged}}
	b := columnBinder{schema: schema}
	var given []propertyColumn
	var action string
	switch {
	case (c.Vertices == nil) == (c.Edges == nil):
		return nil, wire.RequestError("vertices, edges: a load has exactly one of them")
	case c.Vertices != nil:
		v := c.Vertices
		if len(v.Labels) == 0 || v.Labels[0] == "" {
			return nil, wire.RequestError("vertices.labels: must name at least one label")
		}
		if v.Property == "" {
			v.Property = v.Key
		}
		var ok bool
		if out.duplicate, ok = shard.OnDuplicateNames[cmp.Or(v.OnDuplicate, "overwrite")]; !ok {
			return nil, wire.RequestError("vertices.onDuplicate: must be overwrite, keep-first or error, was " + strconv.Quote(v.OnDuplicate))
		}
		out.open.Remember = out.duplicate != shard.DuplicateOverwrite
		out.labels, action = v.Labels, v.Action
		out.keys = b.column("vertices.key", v.Key)
		out.open.Spaces = []loader.Space{{Name: v.Labels[0], Label: v.Labels[0], Property: v.Property}}
		given = b.properties("vertices.properties", v.Properties)
		if !hasProperty(given, v.Property) {
			given = append(given, propertyColumn{Name: v.Property, index: out.keys})
		}
	default:
		e := c.Edges
		if e.Type == "" {
			return nil, wire.RequestError("edges.type: must not be empty")
		}
		var ok bool
		if out.dangling, ok = danglingNames[e.OnDangling]; !ok {
			return nil, wire.RequestError("edges.onDangling: must be reject, create or skip, was " + strconv.Quote(e.OnDangling))
		}
		out.edges, out.typ, action = true, e.Type, e.Action
		out.from, out.to = b.column("edges.from.column", e.From.Column), b.column("edges.to.column", e.To.Column)
		out.fromSpace, out.toSpace = out.space("edges.from", &e.From, &b), out.space("edges.to", &e.To, &b)
		given = b.properties("edges.properties", e.Properties)
		if e.Properties == nil {
			given = slices.DeleteFunc(given, func(p propertyColumn) bool { return p.index == out.from || p.index == out.to })
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	var ok bool
	if out.action, ok = actionNames[action]; !ok {
		return nil, wire.RequestError("action: must be upsert, insert, update or delete, was " + strconv.Quote(action))
	}
	out.properties = given
	for i := range given {
		s, ok := strategyNames[given[i].Strategy]
		if !ok {
			return nil, wire.RequestError("strategy: " + strconv.Quote(given[i].Strategy) + " is unknown")
		}
		out.strategies = append(out.strategies, s)
	}
	return out, nil
}

// space returns the number of the space of an end's keys.
func (c *loadColumns) space(field string, e *endColumn, b *columnBinder) int {
	if e.Label == "" || e.Property == "" {
		b.fail(field + ": must have a label and a property")
		return 0
	}
	for i, sp := range c.open.Spaces {
		if sp.Label == e.Label && sp.Property == e.Property {
			return i
		}
	}
	c.open.Spaces = append(c.open.Spaces, loader.Space{Name: e.Label + "." + e.Property, Label: e.Label, Property: e.Property})
	return len(c.open.Spaces) - 1
}

func hasProperty(ps []propertyColumn, name string) bool {
	return slices.ContainsFunc(ps, func(p propertyColumn) bool { return p.Name == name })
}

// columnBinder finds columns by their names and keeps the first error.
type columnBinder struct {
	schema *arrow.Schema
	err    error
}

func (b *columnBinder) fail(msg string) {
	if b.err == nil {
		b.err = wire.RequestError(msg)
	}
}

func (b *columnBinder) column(field, name string) int {
	switch found := b.schema.FieldIndices(name); len(found) {
	case 1:
		return found[0]
	case 0:
		b.fail(fmt.Sprintf("%s: no column is named %q", field, name))
	default:
		b.fail(fmt.Sprintf("%s: %d columns are named %q", field, len(found), name))
	}
	return 0
}

// properties finds the columns of properties; without any given, those are all columns.
func (b *columnBinder) properties(field string, given []propertyColumn) (out []propertyColumn) {
	if given == nil {
		for _, f := range b.schema.Fields() {
			given = append(given, propertyColumn{Name: f.Name})
		}
	}
	for _, p := range given {
		if p.Column == "" {
			p.Column = p.Name
		}
		if p.Name == "" || hasProperty(out, p.Name) {
			b.fail(fmt.Sprintf("%s: each must have a name of its own, was %q", field, p.Name))
		}
		p.index = b.column(field, p.Column)
		out = append(out, p)
	}
	return out
}

// decode decodes a record batch.
func (c *loadColumns) decode(m putBatch, charge *memory.Charge) (*loader.Batch, error) {
	decoded := make([][]graph.Value, m.rows.NumCols())
	cells := func(i int) (values []graph.Value, err error) {
		if decoded[i] != nil {
			return decoded[i], nil
		}
		if values, err = arrowstream.Column(m.rows.Column(i), charge); err != nil {
			return nil, wire.BadParams(fmt.Sprintf("the column %q: ", m.rows.ColumnName(i)), err)
		}
		decoded[i] = values
		return values, nil
	}
	out := &loader.Batch{Seq: m.number.Seq, Confirmed: m.number.Confirmed}
	props := make([]loader.PropertyColumn, len(c.properties))
	for i, p := range c.properties {
		values, err := cells(p.index)
		if err != nil {
			return nil, err
		}
		props[i] = loader.PropertyColumn{Name: p.Name, Values: values, Strategy: c.strategies[i]}
	}
	if c.edges {
		from, err := cells(c.from)
		if err != nil {
			return nil, err
		}
		to, err := cells(c.to)
		if err != nil {
			return nil, err
		}
		out.Edges = []loader.EdgeRows{{
			Type: c.typ, SrcSpace: c.fromSpace, DstSpace: c.toSpace, Src: from, Dst: to, Props: props, Action: c.action, Dangling: c.dangling,
		}}
	} else {
		keys, err := cells(c.keys)
		if err != nil {
			return nil, err
		}
		out.Vertices = []loader.VertexRows{{Labels: c.labels, Keys: keys, Props: props, Action: c.action, OnDuplicate: c.duplicate}}
	}
	m.rows.Release()
	return out, nil
}
