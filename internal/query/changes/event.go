package changes

import (
	"time"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/token"
)

// Op says what an event tells.
type Op byte

// The operations.
const (
	Create Op = 'c'
	Update Op = 'u'
	Delete Op = 'd'
	// Read is an element of the snapshot with which a stream began.
	Read Op = 'r'
	// Gap stands for the changes of a load that kept them out of the log: of all these, only Change.Counts is known.
	Gap Op = 'g'
)

// Event is what happened to a vertex or an edge in a transaction, or an element of a snapshot. It is valid until the stream's next Next.
type Event struct {
	// TxID numbers the graph's transactions in ascending order, not without holes; it is 0 for the elements of a snapshot. Seq counts the
	// transaction's events from 0, those that no selector takes included.
	TxID, Seq int64
	// Last marks the transaction's last event that the stream has; of a snapshot, the last one of all.
	Last bool
	Op   Op
	// Change has the numbers of the catalog's names. Read is a Created there.
	Change changelog.Change

	tx *transaction
	at token.Token
}

// transaction is what the events of a transaction have in common.
type transaction struct {
	s       *Stream
	started int64
	commit  int64
	origin  changelog.Origin
	full    bool
	said    graph.Value // what origin's metadata is
	json    []byte      // the event's metadata
	value   graph.Value
}

// ID is the token after the event.
func (e *Event) ID() string { return e.tx.s.signer.Text(e.at) }

// AppendID appends the token after the event.
func (e *Event) AppendID(dst []byte) []byte { return e.tx.s.signer.Append(dst, e.at) }

// IsEdge reports whether the event is about an edge. A Gap is about both.
func (e *Event) IsEdge() bool { return e.Change.IsEdge }

// Committed is the time of the commit in nanoseconds since 1970, for an element of a snapshot that of the snapshot's last commit.
func (e *Event) Committed() int64 { return e.tx.commit }

// Origin says where the transaction came from.
func (e *Event) Origin() changelog.Origin { return e.tx.origin }

// AppendElementID appends the id of the vertex or edge, as elementId() gives it.
func (e *Event) AppendElementID(dst []byte) []byte {
	if e.Change.IsEdge {
		return graph.AppendEdgeElementID(dst, e.Change.Edge)
	}
	return graph.AppendVertexElementID(dst, e.Change.Vertex)
}

// EdgeType is the type of the edge.
func (e *Event) EdgeType() string { return e.tx.s.g.TypeName(e.Change.Edge.Type) }

// Labels are those of the vertex: before the change or, if it has created the vertex, after it. They must not be changed.
func (e *Event) Labels() []string { return e.tx.s.names.set(e.labels()).names }

func (e *Event) labels() graph.LabelSet {
	if e.Change.Op == changelog.Created {
		return e.Change.After.Labels
	}
	return e.Change.Before.Labels
}

// keyed returns the labels that the values of the vertex's keys go with.
func (e *Event) keyed() graph.LabelSet {
	if e.Change.Op == changelog.Deleted {
		return e.Change.Before.Labels
	}
	return e.Change.After.Labels
}

// partly reports whether the states have only what the change changed.
func (e *Event) partly() bool { return e.Change.Op == changelog.Changed && !e.Change.Full }

// state returns the state before or after the change; ok is false if there is none.
func (e *Event) state(after bool) (st *changelog.State, ok bool) {
	switch {
	case e.Op == Gap, after && e.Change.Op == changelog.Deleted, !after && e.Change.Op == changelog.Created:
		return nil, false
	case after:
		return &e.Change.After, true
	}
	return &e.Change.Before, true
}

// stateLabels returns the labels of a state, of an Update in mode DIFF only those that it removes, or adds.
func (e *Event) stateLabels(after bool) *labelNames {
	n, before, now := e.tx.s.names, e.Change.Before.Labels, e.Change.After.Labels
	if after {
		before, now = now, before
	}
	if e.partly() {
		return n.difference(before, now)
	}
	return n.set(before)
}

// Columns returns the columns of db.cdc.query: id, txId, seq, metadata and event. The values last.
func (e *Event) Columns() []graph.Value {
	return []graph.Value{graph.StringValue(e.ID()), graph.IntValue(e.TxID), graph.IntValue(e.Seq), e.tx.metadataValue(), e.eventValue()}
}

// Value returns a map of the columns.
func (e *Event) Value() graph.Value {
	c := e.Columns()
	return entries("id", c[0], "txId", c[1], "seq", c[2], "metadata", c[3], "event", c[4])
}

// entries returns a map of keys and values.
func entries(pairs ...any) graph.Value {
	m := make([]graph.MapEntry, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, graph.MapEntry{Key: pairs[i].(string), Value: pairs[i+1].(graph.Value)})
	}
	return graph.MapValue(m)
}

func text(s string) graph.Value { return graph.StringValue(s) }

// mode is the name of how much of the changes the log has.
func (t *transaction) mode() string {
	if t.full {
		return changelog.Full.String()
	}
	return changelog.Diff.String()
}

// metadata returns what the client said of the transaction: a map.
func (t *transaction) metadata() graph.Value {
	if t.said.IsNull() {
		t.said = graph.MapValue(nil)
		if t.origin.Metadata == "" {
			return t.said
		}
		if v, err := readJSON([]byte(t.origin.Metadata)); err == nil && v.Kind() == graph.Map {
			t.said = v
		}
	}
	return t.said
}

func (t *transaction) metadataValue() graph.Value {
	if t.value.IsNull() {
		o := &t.origin
		user := text(o.User)
		t.value = entries(
			"executingUser", user, "authenticatedUser", user, "connectionClient", text(o.Client), "connectionServer", text(o.Server),
			"connectionType", text(o.Protocol), "captureMode", text(t.mode()), "serverId", text(serverID), "databaseName", text(t.s.database),
			"txStartTime", dateTime(t.started), "txCommitTime", dateTime(t.commit), "txMetadata", t.metadata(),
		)
	}
	return t.value
}

// serverID is what SHOW DATABASES names the server.
const serverID = "hopgate"

func dateTime(ns int64) graph.Value {
	return graph.DateTimeValue(temporal.FromTime(time.Unix(0, ns), temporal.Zone{}))
}

func (e *Event) eventValue() graph.Value {
	c := &e.Change
	if e.Op == Gap {
		n := func(i int) graph.Value { return graph.IntValue(int64(c.Counts[i])) }
		of := func(i int) graph.Value { return entries("created", n(i), "updated", n(i+1), "deleted", n(i+2)) }
		return entries("eventType", text("g"), "operation", text("g"), "nodes", of(0), "relationships", of(3))
	}
	state := entries("before", e.stateValue(false), "after", e.stateValue(true))
	id, op := text(string(e.AppendElementID(nil))), text(string(e.Op))
	n := e.tx.s.names
	if !c.IsEdge {
		return entries("elementId", id, "eventType", text("n"), "operation", op, "labels", n.set(e.labels()).value, "keys", n.vertexKeys(e.keyed(), c.Keys),
			"state", state)
	}
	return entries("elementId", id, "eventType", text("r"), "operation", op, "type", text(e.EdgeType()), "keys", n.edgeKeys(c.Edge.Type, c.Keys),
		"start", e.endValue(c.Edge.Src, &c.Src), "end", e.endValue(c.Edge.Dst, &c.Dst), "state", state)
}

func (e *Event) endValue(v graph.VertexID, end *changelog.End) graph.Value {
	n := e.tx.s.names
	return entries("elementId", text(string(graph.AppendVertexElementID(nil, v))), "labels", n.set(end.Labels).value, "keys", n.vertexKeys(end.Labels, end.Keys))
}

func (e *Event) stateValue(after bool) graph.Value {
	st, ok := e.state(after)
	if !ok {
		return graph.Value{}
	}
	props := make([]graph.MapEntry, 0, len(st.Props))
	for _, p := range st.Props {
		if !p.Value.IsNull() {
			props = append(props, graph.MapEntry{Key: e.tx.s.names.prop(p.ID).name, Value: p.Value.Clone()})
		}
	}
	if e.Change.IsEdge {
		return entries("properties", graph.MapValue(props))
	}
	return entries("labels", e.stateLabels(after).value, "properties", graph.MapValue(props))
}
