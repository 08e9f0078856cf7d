package bolt

import (
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// metadata builds the map of a response.
type metadata struct {
	form packstream.Form
	n    int
	buf  []byte // the entries
}

func (m *metadata) key(name string) {
	m.n++
	m.buf = packstream.AppendString(m.buf, name)
}

func (m *metadata) text(name, v string) {
	m.key(name)
	m.buf = packstream.AppendString(m.buf, strings.ToValidUTF8(v, "\ufffd"))
}

func (m *metadata) int(name string, v int64) {
	m.key(name)
	m.buf = packstream.AppendInt(m.buf, v)
}

func (m *metadata) float(name string, v float64) {
	m.key(name)
	m.buf = packstream.AppendFloat(m.buf, v)
}

func (m *metadata) bool(name string, v bool) {
	m.key(name)
	m.buf = packstream.AppendBool(m.buf, v)
}

func (m *metadata) texts(name string, v []string) {
	m.key(name)
	m.buf = packstream.AppendList(m.buf, len(v))
	for _, s := range v {
		m.buf = packstream.AppendString(m.buf, s)
	}
}

// mapping adds a map that f fills in.
func (m *metadata) mapping(name string, f func(in *metadata)) {
	m.key(name)
	m.element(f)
}

// element adds a map without a key, as a list element.
func (m *metadata) element(f func(in *metadata)) {
	at, outer := len(m.buf), m.n
	m.buf, m.n = packstream.AppendMap(m.buf, 0), 0
	f(m)
	if head := packstream.AppendMap(nil, m.n); len(head) == 1 {
		m.buf[at] = head[0]
	} else {
		m.buf = slices.Replace(m.buf, at, at+1, head...)
	}
	m.n = outer
}

// list adds a list of maps.
func (m *metadata) list(name string, n int, f func(i int, in *metadata)) {
	m.key(name)
	m.buf = packstream.AppendList(m.buf, n)
	for i := range n {
		m.element(func(in *metadata) { f(i, in) })
	}
}

// success sends SUCCESS with a map that f fills in; nil leaves it empty.
func (s *Session) success(f func(m *metadata)) {
	m := &s.scratch
	m.form, m.n, m.buf = s.form, 0, m.buf[:0]
	if f != nil {
		f(m)
	}
	s.out.answer(success, m)
	s.said = success
	if cap(m.buf) > mostScratch {
		m.buf = nil
	}
}

// mostScratch bounds the memory that a connection keeps for building responses.
const mostScratch = 1 << 10

func (s *Session) ignore() {
	s.out.answer(ignored, nil)
	s.said = ignored
}

// fail sends FAILURE with an error.
func (s *Session) fail(f *Failure) {
	var m metadata
	s.putFailure(&m, f)
	s.out.answer(failure, &m)
	s.said = failure
}

func (s *Session) putFailure(m *metadata, f *Failure) {
	if !s.version.from(5, 7) {
		m.text("code", f.Code)
		m.text("message", f.Message)
		return
	}
	m.text("neo4j_code", f.Code)
	s.putStatus(m, f)
}

// putStatus writes the part of an error that its causes share.
func (s *Session) putStatus(m *metadata, f *Failure) {
	m.text("message", f.Message)
	m.text("gql_status", f.Status)
	m.text("description", f.Description)
	m.mapping("diagnostic_record", func(m *metadata) {
		if f.Class != "" {
			m.text("_classification", f.Class)
		}
		putPosition(m, "_position", f.Pos)
		m.text("OPERATION", "")
		m.text("OPERATION_CODE", "0")
		m.text("CURRENT_SCHEMA", "/")
	})
	if f.Cause != nil {
		m.mapping("cause", func(m *metadata) { s.putStatus(m, f.Cause) })
	}
}

// putSummary writes the end of a result.
func (s *Session) putSummary(m *metadata, r *openResult) {
	sum := r.res.Summary()
	m.text("type", sum.Type)
	m.int("t_last", time.Since(r.began).Milliseconds())
	m.text("db", r.res.Graph())
	if sum.Bookmark != "" {
		m.text("bookmark", sum.Bookmark)
	}
	putCounters(m, sum)
	if p := sum.Plan; p != nil {
		name := "plan"
		if p.Profiled {
			name = "profile"
		}
		m.mapping(name, func(m *metadata) { putPlan(m, p, sum.Planner) })
	}
	notifications := slices.Clone(sum.Notifications)
	if r.replaced {
		notifications = append(notifications, vectorsReplaced)
	}
	notifications = slices.DeleteFunc(notifications, func(n plan.Notification) bool {
		return !r.filter.Passes(n.Severity, n.Category)
	})
	switch {
	case s.version.from(5, 6):
		putStatuses(m, len(r.res.Columns()), sum.Rows, notifications)
	case len(notifications) > 0:
		m.list("notifications", len(notifications), func(i int, m *metadata) { s.putNotification(m, &notifications[i]) })
	}
	took := &sum.Cost
	m.mapping("hopgate_cost", func(m *metadata) {
		m.int("visits", took.Visits)
		m.int("rows", took.Rows)
		m.int("bytes", took.Bytes)
		m.float("cpu", milliseconds(took.CPU))
		m.float("queue", milliseconds(took.Queue))
		if took.Estimate >= 0 {
			m.int("estimate", cost.Whole(took.Estimate))
		}
	})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// vectorsReplaced warns of vectors in the result for a client of a version without them.
var vectorsReplaced = plan.Notification{
	Code: "Neo.ClientNotification.Request.UnsupportedType", Title: "The client does not support a type of the result",
	Description: "Vectors need Bolt 6.0. Maps that name their types take their place; toFloatList() returns their coordinates.",
	Severity:    "WARNING", Category: "UNSUPPORTED",
	Status: "01N83", StatusText: "warn: unsupported type. The client does not support vectors, which need Bolt 6.0.",
}

// putCounters writes the counters that are not 0.
func putCounters(m *metadata, sum *Summary) {
	c, sc := &sum.Counters, &sum.Schema
	all := []struct {
		name string
		n    int64
	}{
		{"nodes-created", c.NodesCreated},
		{"nodes-deleted", c.NodesDeleted},
		{"relationships-created", c.RelationshipsCreated},
		{"relationships-deleted", c.RelationshipsDeleted},
		{"properties-set", c.PropertiesSet},
		{"labels-added", c.LabelsAdded},
		{"labels-removed", c.LabelsRemoved},
		{"indexes-added", sc.IndexesAdded},
		{"indexes-removed", sc.IndexesRemoved},
		{"constraints-added", sc.ConstraintsAdded},
		{"constraints-removed", sc.ConstraintsRemoved},
	}
	all = slices.DeleteFunc(all, func(c struct {
		name string
		n    int64
	},
	) bool {
		return c.n == 0
	})
	if len(all) == 0 && sum.SystemUpdates == 0 {
		return
	}
	m.mapping("stats", func(m *metadata) {
		for _, c := range all {
			m.int(c.name, c.n)
		}
		if len(all) > 0 {
			m.bool("contains-updates", true)
		}
		if sum.SystemUpdates > 0 {
			m.int("system-updates", sum.SystemUpdates)
			m.bool("contains-system-updates", true)
		}
	})
}

// putPlan writes an operator with its inputs; only the root sets planner.
func putPlan(m *metadata, p *explain.Node, planner string) {
	m.text("operatorType", p.Operator)
	m.texts("identifiers", p.Variables)
	m.mapping("args", func(m *metadata) {
		m.text("Details", p.Args)
		if p.Estimate >= 0 {
			m.float("EstimatedRows", p.Estimate)
		}
		if planner != "" {
			m.text("version", "5")
			m.text("planner", "COST")
			m.text("runtime", "PIPELINED")
			m.text("string-representation", planner)
		}
		if p.Profiled {
			m.int("Rows", p.Rows)
			m.int("DbHits", p.Requests)
			m.int("Time", p.Time.Nanoseconds())
			m.int("Memory", p.Memory)
			m.int("PageCacheHits", p.Hits)
			m.int("PageCacheMisses", p.Misses)
		}
	})
	if p.Profiled {
		m.int("rows", p.Rows)
		m.int("dbHits", p.Requests)
		m.int("time", p.Time.Nanoseconds())
		m.int("pageCacheHits", p.Hits)
		m.int("pageCacheMisses", p.Misses)
	}
	m.list("children", len(p.Children), func(i int, in *metadata) { putPlan(in, p.Children[i], "") })
}

// putStatuses writes the GQL status of the statement, followed by the notifications.
func putStatuses(m *metadata, columns int, rows int64, notifications []plan.Notification) {
	status, description := "00000", "note: successful completion"
	switch {
	case columns == 0:
		status, description = "00001", "note: successful completion - omitted result"
	case rows == 0:
		status, description = "02000", "note: no data"
	}
	m.list("statuses", 1+len(notifications), func(i int, m *metadata) {
		if i == 0 {
			m.text("gql_status", status)
			m.text("status_description", description)
			return
		}
		n := &notifications[i-1]
		m.text("gql_status", n.Status)
		m.text("status_description", n.StatusText)
		m.text("neo4j_code", n.Code)
		m.text("title", n.Title)
		m.text("description", n.Description)
		m.mapping("diagnostic_record", func(m *metadata) {
			m.text("OPERATION", "")
			m.text("OPERATION_CODE", "0")
			m.text("CURRENT_SCHEMA", "/")
			m.text("_classification", n.Category)
			m.text("_severity", n.Severity)
			putPosition(m, "_position", n.Pos)
		})
	})
}

// putNotification writes a notification in the form before 5.6.
func (s *Session) putNotification(m *metadata, n *plan.Notification) {
	m.text("code", n.Code)
	m.text("title", n.Title)
	m.text("description", n.Description)
	m.text("severity", n.Severity)
	if s.version.from(5, 2) {
		m.text("category", n.Category)
	}
	putPosition(m, "position", n.Pos)
}

// putPosition writes a position in a statement, if known.
func putPosition(m *metadata, name string, p graph.Pos) {
	if p.Line == 0 {
		return
	}
	m.mapping(name, func(m *metadata) {
		m.int("offset", int64(p.Offset))
		m.int("line", int64(p.Line))
		m.int("column", int64(p.Column))
	})
}

// putTable writes a routing table in which every address has every role.
func putTable(m *metadata, t *Table) {
	m.mapping("rt", func(m *metadata) {
		m.int("ttl", int64(t.TTL/time.Second))
		m.text("db", t.Graph)
		roles := []string{"ROUTE", "READ", "WRITE"}
		m.list("servers", len(roles), func(i int, m *metadata) {
			m.texts("addresses", t.Addresses)
			m.text("role", roles[i])
		})
	})
}
