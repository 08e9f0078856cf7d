package summary

import (
	"strconv"
	"time"

	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// AppendJSON appends the members that end a response.
func AppendJSON(dst []byte, s query.Summary) []byte {
	dst = append(dst, `"counters":{"containsUpdates":`...)
	c := s.Counters
	dst = strconv.AppendBool(dst, c.ContainsUpdates() || s.Schema != query.SchemaCounters{})
	for _, m := range [...]struct {
		name string
		n    int64
	}{
		{"nodesCreated", c.NodesCreated},
		{"nodesDeleted", c.NodesDeleted},
		{"relationshipsCreated", c.RelationshipsCreated},
		{"relationshipsDeleted", c.RelationshipsDeleted},
		{"propertiesSet", c.PropertiesSet},
		{"labelsAdded", c.LabelsAdded},
		{"labelsRemoved", c.LabelsRemoved},
		{"indexesAdded", s.Schema.IndexesAdded},
		{"indexesRemoved", s.Schema.IndexesRemoved},
		{"constraintsAdded", s.Schema.ConstraintsAdded},
		{"constraintsRemoved", s.Schema.ConstraintsRemoved},
	} {
		dst = append(dst, ',', '"')
		dst = append(dst, m.name...)
		dst = append(dst, '"', ':')
		dst = strconv.AppendInt(dst, m.n, 10)
	}
	dst = append(dst, `},"type":"`...)
	dst = append(dst, s.Type...)
	dst = append(dst, `","plan":`...)
	if s.Plan == nil {
		dst = append(dst, "null"...)
	} else {
		dst = AppendPlan(dst, s.Plan)
		dst = appendQuote(dst, s.Plan.Quote)
	}
	dst = appendNotifications(dst, s.Notifications)
	if s.Truncated {
		reason := s.Reason
		if reason == "max_rows" {
			reason = "maxRows"
		}
		dst = append(dst, `,"truncated":true,"truncatedReason":`...)
		dst = notation.AppendJSONString(dst, reason)
	}
	if s.NextPage != "" {
		dst = append(dst, `,"nextPageToken":`...)
		dst = notation.AppendJSONString(dst, s.NextPage)
	}
	if len(s.Hops) > 0 {
		dst = append(dst, `,"hops":[`...)
		for i, h := range s.Hops {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"hop":`...)
			dst = strconv.AppendInt(dst, int64(i+1), 10)
			dst = append(dst, `,"sources":`...)
			dst = strconv.AppendInt(dst, h.Sources, 10)
			dst = append(dst, `,"edges":`...)
			dst = strconv.AppendInt(dst, h.Edges, 10)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	return dst
}

// appendNotifications appends the notifications, if any, in the form of Neo4j's Query API.
func appendNotifications(dst []byte, list []plan.Notification) []byte {
	for i := range list {
		n := &list[i]
		if i == 0 {
			dst = append(dst, `,"notifications":[`...)
		} else {
			dst = append(dst, ',')
		}
		member := byte('{')
		for _, m := range [...]struct{ name, text string }{
			{"code", n.Code},
			{"title", n.Title},
			{"description", n.Description},
			{"severity", n.Severity},
			{"category", n.Category},
			{"gqlStatus", n.Status},
			{"statusDescription", n.StatusText},
			{"suggestion", n.Suggestion},
		} {
			if m.text != "" {
				dst = append(dst, member, '"')
				dst = append(dst, m.name...)
				dst = append(dst, '"', ':')
				dst = notation.AppendJSONString(dst, m.text)
				member = ','
			}
		}
		dst = wire.AppendPosition(dst, n.Pos)
		dst = append(dst, '}')
	}
	if len(list) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

// appendQuote appends the quote of an EXPLAIN, if there is one.
func appendQuote(dst []byte, q *explain.Quote) []byte {
	switch {
	case q == nil:
		return dst
	case q.Reason != "":
		dst = notation.AppendJSONString(append(dst, `,"quote":{"reason":`...), q.Reason)
	default:
		dst = strconv.AppendInt(append(dst, `,"quote":{"visits":`...), q.Visits, 10)
	}
	return append(dst, '}')
}

// AppendPlan appends a plan.
func AppendPlan(dst []byte, p *explain.Node) []byte {
	dst = append(dst, `{"operator":`...)
	dst = notation.AppendJSONString(dst, p.Operator)
	dst = append(dst, `,"arguments":`...)
	dst = notation.AppendJSONString(dst, p.Args)
	if p.Estimate >= 0 {
		dst = append(dst, `,"estimatedRows":`...)
		dst = strconv.AppendFloat(dst, p.Estimate, 'g', 4, 64)
	}
	if p.Profiled {
		dst = append(dst, `,"rows":`...)
		dst = strconv.AppendInt(dst, p.Rows, 10)
		dst = append(dst, `,"batches":`...)
		dst = strconv.AppendInt(dst, p.Batches, 10)
		dst = append(dst, `,"timeUs":`...)
		dst = strconv.AppendFloat(dst, float64(p.Time)/float64(time.Microsecond), 'f', 1, 64)
		dst = append(dst, `,"shardRequests":`...)
		dst = strconv.AppendInt(dst, p.Requests, 10)
		dst = append(dst, `,"bytes":`...)
		dst = strconv.AppendInt(dst, p.Bytes, 10)
		dst = append(dst, `,"memory":`...)
		dst = strconv.AppendInt(dst, p.Memory, 10)
		if p.Spilled > 0 {
			dst = append(dst, `,"spilled":`...)
			dst = strconv.AppendInt(dst, p.Spilled, 10)
		}
		if p.Compared > 0 {
			dst = append(dst, `,"compared":`...)
			dst = strconv.AppendInt(dst, p.Compared, 10)
		}
		if p.Candidates > 0 {
			dst = append(dst, `,"candidates":`...)
			dst = strconv.AppendInt(dst, p.Candidates, 10)
		}
		if p.Metered {
			dst = append(dst, `,"cacheHits":`...)
			dst = strconv.AppendInt(dst, p.Hits, 10)
			dst = append(dst, `,"cacheMisses":`...)
			dst = strconv.AppendInt(dst, p.Misses, 10)
			dst = append(dst, `,"largeValues":`...)
			dst = strconv.AppendInt(dst, p.Large, 10)
		}
		if p.Wired {
			dst = append(dst, `,"wireRequests":`...)
			dst = strconv.AppendInt(dst, p.Calls, 10)
			dst = append(dst, `,"wireSent":`...)
			dst = strconv.AppendInt(dst, p.Sent, 10)
			dst = append(dst, `,"wireReceived":`...)
			dst = strconv.AppendInt(dst, p.Received, 10)
			dst = append(dst, `,"edges":`...)
			dst = strconv.AppendInt(dst, p.Edges, 10)
			if per, ok := p.WirePerEdge(); ok {
				dst = append(dst, `,"wirePerEdge":`...)
				dst = strconv.AppendFloat(dst, per, 'f', 2, 64)
			}
		}
	}
	dst = append(dst, `,"children":[`...)
	for i, c := range p.Children {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendPlan(dst, c)
	}
	return append(dst, ']', '}')
}
