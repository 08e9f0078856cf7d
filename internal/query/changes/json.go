package changes

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// readJSON reads a text that is one JSON value.
func readJSON(b []byte) (graph.Value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(b))
	v, err := notation.ReadJSON(d)
	if err == nil && len(bytes.TrimSpace(b[d.InputOffset():])) > 0 {
		return v, graph.RuntimeError("ArgumentError", BadSelector, "more than one JSON value")
	}
	return v, err
}

// AppendJSON appends the event as a JSON object: the columns of db.cdc.query and, at the end of a transaction, "last":true. Values are in
// plain JSON.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = e.AppendID(append(dst, `{"id":"`...))
	dst = strconv.AppendInt(append(dst, `","txId":`...), e.TxID, 10)
	dst = strconv.AppendInt(append(dst, `,"seq":`...), e.Seq, 10)
	if e.Last {
		dst = append(dst, `,"last":true`...)
	}
	dst = e.AppendMetadata(append(dst, `,"metadata":`...))
	dst = e.AppendEvent(append(dst, `,"event":`...))
	return append(dst, '}')
}

// AppendMetadata appends the column metadata as a JSON object.
func (e *Event) AppendMetadata(dst []byte) []byte {
	t := e.tx
	if t.json == nil && e.Last {
		return t.appendMetadata(dst)
	}
	if t.json == nil {
		t.json = t.appendMetadata(nil)
	}
	return append(dst, t.json...)
}

func (t *transaction) appendMetadata(dst []byte) []byte {
	o := &t.origin
	dst = notation.AppendJSONString(append(dst, `{"executingUser":`...), o.User)
	dst = notation.AppendJSONString(append(dst, `,"authenticatedUser":`...), o.User)
	dst = notation.AppendJSONString(append(dst, `,"connectionClient":`...), o.Client)
	dst = notation.AppendJSONString(append(dst, `,"connectionServer":`...), o.Server)
	dst = notation.AppendJSONString(append(dst, `,"connectionType":`...), o.Protocol)
	dst = append(append(dst, `,"captureMode":"`...), t.mode()...)
	dst = append(dst, `","serverId":"`+serverID+`","databaseName":`...)
	dst = notation.AppendJSONString(dst, t.s.database)
	dst = t.s.clock.append(append(dst, `,"txStartTime":"`...), t.started)
	dst = t.s.clock.append(append(dst, `","txCommitTime":"`...), t.commit)
	return append(notation.PlainJSON.Append(append(dst, `","txMetadata":`...), t.metadata()), '}')
}

// clock writes times, of which many are in the same second.
type clock struct {
	second int64
	text   []byte // of the second, with a point
}

// append appends a time with nine digits of the second, as Neo4j's clients read it.
func (c *clock) append(dst []byte, ns int64) []byte {
	t := time.Unix(0, ns).UTC()
	if c.text == nil || t.Unix() != c.second {
		c.second, c.text = t.Unix(), t.AppendFormat(c.text[:0], "2006-01-02T15:04:05.")
	}
	dst = append(append(dst, c.text...), "000000000Z"...)
	for n, at := t.Nanosecond(), len(dst)-2; n > 0; n, at = n/10, at-1 {
		dst[at] = byte('0' + n%10)
	}
	return dst
}

// AppendEvent appends the column event as a JSON object.
func (e *Event) AppendEvent(dst []byte) []byte {
	c, n := &e.Change, e.tx.s.names
	if e.Op == Gap {
		dst = appendCounts(append(dst, `{"eventType":"g","operation":"g","nodes":`...), c.Counts[:3])
		return append(appendCounts(append(dst, `,"relationships":`...), c.Counts[3:]), '}')
	}
	dst = e.AppendElementID(append(dst, `{"elementId":"`...))
	if c.IsEdge {
		dst = append(append(dst, `","eventType":"r","operation":"`...), byte(e.Op))
		dst = append(append(dst, `","type":`...), n.edgeType(c.Edge.Type).json...)
		dst = n.appendEdgeKeys(append(dst, `,"keys":`...), c.Edge.Type, c.Keys)
		dst = e.appendEnd(append(dst, `,"start":`...), c.Edge.Src, &c.Src)
		dst = e.appendEnd(append(dst, `,"end":`...), c.Edge.Dst, &c.Dst)
	} else {
		dst = append(append(dst, `","eventType":"n","operation":"`...), byte(e.Op))
		dst = append(append(dst, `","labels":`...), n.set(e.labels()).json...)
		dst = n.appendVertexKeys(append(dst, `,"keys":`...), e.keyed(), c.Keys)
	}
	dst = e.AppendState(append(dst, `,"state":{"before":`...), false)
	dst = e.AppendState(append(dst, `,"after":`...), true)
	return append(dst, '}', '}')
}

func appendCounts(dst []byte, counts []uint64) []byte {
	dst = strconv.AppendUint(append(dst, `{"created":`...), counts[0], 10)
	dst = strconv.AppendUint(append(dst, `,"updated":`...), counts[1], 10)
	dst = strconv.AppendUint(append(dst, `,"deleted":`...), counts[2], 10)
	return append(dst, '}')
}

func (e *Event) appendEnd(dst []byte, v graph.VertexID, end *changelog.End) []byte {
	n := e.tx.s.names
	dst = graph.AppendVertexElementID(append(dst, `{"elementId":"`...), v)
	dst = append(append(dst, `","labels":`...), n.set(end.Labels).json...)
	return append(n.appendVertexKeys(append(dst, `,"keys":`...), end.Labels, end.Keys), '}')
}

// AppendState appends the state before or after the change as a JSON object of the labels of a vertex and the properties, or null.
func (e *Event) AppendState(dst []byte, after bool) []byte {
	if _, ok := e.state(after); !ok {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	if !e.Change.IsEdge {
		dst = append(append(append(dst, `"labels":`...), e.stateLabels(after).json...), ',')
	}
	return append(e.AppendProperties(append(dst, `"properties":`...), after), '}')
}

// AppendProperties appends the properties before or after the change as a JSON object, or null.
func (e *Event) AppendProperties(dst []byte, after bool) []byte {
	st, ok := e.state(after)
	if !ok {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	n, first := e.tx.s.names, true
	for i := range st.Props {
		p := &st.Props[i]
		if p.Value.IsNull() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, n.prop(p.ID).json...)
		dst = notation.PlainJSON.Append(dst, p.Value)
	}
	return append(dst, '}')
}
