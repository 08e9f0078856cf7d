package feed

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/version"
)

// Format is how a feed writes events.
type Format uint8

// The formats.
const (
	// JSON has the columns of db.cdc.query.
	JSON Format = iota
	// Debezium has the envelope of Debezium's change events, without a schema.
	Debezium
)

// ParseFormat returns the format with a name; "" is JSON.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "", "json":
		return JSON, nil
	case "debezium":
		return Debezium, nil
	}
	return 0, wire.RequestError("format: must be json or debezium, was " + strconv.Quote(name))
}

// debezium writes events as Debezium's documentation of change events has them: before, after, source, op, ts_ms and transaction. source.token
// is what Debezium's connectors call an offset. transaction has no data_collection_order, since a vertex belongs to as many collections as it
// has labels.
type debezium struct {
	graph  string
	now    time.Time // when the events at hand were read
	source []byte    // the start of all sources
}

func (d *debezium) append(dst []byte, e *changes.Event) []byte {
	dst = d.appendState(append(dst, `{"before":`...), e, false)
	dst = d.appendState(append(dst, `,"after":`...), e, true)
	dst = d.appendSource(append(dst, `,"source":`...), e)
	op := byte(e.Op)
	if e.Op == changes.Gap {
		op = 'm'
	}
	dst = append(append(append(dst, `,"op":"`...), op), '"')
	if e.Op == changes.Gap { // as a connector's own messages
		dst = append(dst, `,"message":{"prefix":"hopgate.gap","content":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, e.AppendEvent(nil))
		dst = append(dst, `"}`...)
	}
	dst = strconv.AppendInt(append(dst, `,"ts_ms":`...), d.now.UnixMilli(), 10)
	dst = strconv.AppendInt(append(dst, `,"ts_us":`...), d.now.UnixMicro(), 10)
	dst = strconv.AppendInt(append(dst, `,"ts_ns":`...), d.now.UnixNano(), 10)
	if e.Op == changes.Read || e.TxID == 0 {
		return append(dst, `,"transaction":null}`...)
	}
	dst = strconv.AppendInt(append(dst, `,"transaction":{"id":"`...), e.TxID, 10)
	dst = strconv.AppendInt(append(dst, `","total_order":`...), e.Seq+1, 10)
	return append(dst, `}}`...)
}

// appendState appends the row image of an element, or null: its id, its labels or its type and ends, and its properties.
func (d *debezium) appendState(dst []byte, e *changes.Event, after bool) []byte {
	was := len(dst)
	dst = append(dst, `{"elementId":"`...)
	dst = append(e.AppendElementID(dst), `",`...)
	if c := &e.Change; e.IsEdge() {
		dst = notation.AppendJSONString(append(dst, `"type":`...), e.EdgeType())
		dst = graph.AppendVertexElementID(append(dst, `,"start":"`...), c.Edge.Src)
		dst = graph.AppendVertexElementID(append(dst, `","end":"`...), c.Edge.Dst)
		dst = append(dst, `",`...)
	}
	at := len(dst)
	dst = e.AppendState(dst, after)
	if dst[at] != '{' {
		return append(dst[:was], dst[at:]...)
	}
	return append(dst[:at], dst[at+1:]...)
}

// appendSource appends where an event comes from.
func (d *debezium) appendSource(dst []byte, e *changes.Event) []byte {
	if d.source == nil {
		d.source = notation.AppendJSONString([]byte(`{"version":`), version.Number)
		d.source = notation.AppendJSONString(append(d.source, `,"connector":"hopgate","name":`...), d.graph)
		d.source = notation.AppendJSONString(append(d.source, `,"db":`...), d.graph)
	}
	dst = append(dst, d.source...)
	at := e.Committed()
	dst = strconv.AppendInt(append(dst, `,"ts_ms":`...), at/int64(time.Millisecond), 10)
	dst = strconv.AppendInt(append(dst, `,"ts_us":`...), at/int64(time.Microsecond), 10)
	dst = strconv.AppendInt(append(dst, `,"ts_ns":`...), at, 10)
	snapshot := "false"
	if e.Op == changes.Read {
		snapshot = "true"
		if e.Last {
			snapshot = "last"
		}
	}
	dst = append(append(dst, `,"snapshot":"`...), snapshot...)
	kind := "vertex"
	if e.IsEdge() {
		kind = "edge"
	}
	if e.Op == changes.Gap {
		kind = "gap"
	}
	dst = append(append(dst, `","collection":"`...), kind...)
	dst = strconv.AppendInt(append(dst, `","sequence":"[\"`...), e.TxID, 10)
	dst = strconv.AppendInt(append(dst, `\",\"`...), e.Seq, 10)
	dst = strconv.AppendInt(append(dst, `\"]","txId":`...), e.TxID, 10)
	if e.Last {
		dst = append(dst, `,"last":true`...)
	}
	dst = e.AppendID(append(dst, `,"token":"`...))
	return append(dst, `"}`...)
}
