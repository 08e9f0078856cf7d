package summary

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Proto converts a summary.
func Proto(s query.Summary) *pb.QuerySummary {
	all := &struct { // at once, since every answer has them
		summary  pb.QuerySummary
		counters pb.Counters
		cost     costProto
	}{}
	out := &all.summary
	out.Counters, out.Type, out.Plan, out.Truncated = &all.counters, s.Type, PlanProto(s.Plan), s.Truncated
	out.Cost, out.NextPageToken = all.cost.fill(&s.Cost), s.NextPage
	fillCounters(out.Counters, s.Counters, s.Schema)
	if len(s.Notifications) > 0 {
		out.Notifications = NotificationsProto(s.Notifications)
	}
	if s.Plan != nil && s.Plan.Quote != nil {
		if out.Quote = (&pb.Quote{Reason: s.Plan.Quote.Reason}); s.Plan.Quote.Reason == "" {
			out.Quote.Visits = new(uint64(s.Plan.Quote.Visits))
		}
	}
	if s.Truncated {
		out.TruncatedReason = "max_rows"
	}
	return out
}

// costProto is a cost with its parts.
type costProto struct {
	cost       pb.Cost
	cpu, queue durationpb.Duration
	estimate   float64
}

func (c *costProto) fill(t *cost.Told) *pb.Cost {
	out := &c.cost
	out.Visits, out.Rows, out.Bytes = uint64(t.Visits), uint64(t.Rows), uint64(t.Bytes)
	out.Cpu, out.Queue = fillDuration(&c.cpu, t.CPU), fillDuration(&c.queue, t.Queue)
	if c.estimate = t.Estimate; t.Estimate >= 0 {
		out.Estimate = &c.estimate
	}
	return out
}

// fillDuration sets a duration as durationpb.New does.
func fillDuration(out *durationpb.Duration, d time.Duration) *durationpb.Duration {
	out.Seconds, out.Nanos = int64(d/time.Second), int32(d%time.Second)
	return out
}

// CostProto converts a cost.
func CostProto(t *cost.Told) *pb.Cost { return new(costProto).fill(t) }

// NotificationsProto converts notifications.
func NotificationsProto(list []plan.Notification) []*pb.Notification {
	out := make([]*pb.Notification, 0, len(list))
	for i := range list {
		n := &list[i]
		m := &pb.Notification{
			Code: n.Code, Title: n.Title, Description: n.Description, Severity: n.Severity, Category: n.Category,
			GqlStatus: n.Status, StatusDescription: n.StatusText, Suggestion: n.Suggestion,
		}
		if n.Pos.Line > 0 {
			m.Position = &pb.Position{Offset: uint32(n.Pos.Offset), Line: uint32(n.Pos.Line), Column: uint32(n.Pos.Column)}
		}
		out = append(out, m)
	}
	return out
}

// CountersProto converts the counters of a statement.
func CountersProto(c exec.Counters, s query.SchemaCounters) *pb.Counters {
	out := &pb.Counters{}
	fillCounters(out, c, s)
	return out
}

func fillCounters(out *pb.Counters, c exec.Counters, s query.SchemaCounters) {
	if c == (exec.Counters{}) && s == (query.SchemaCounters{}) {
		return
	}
	out.ContainsUpdates = c.ContainsUpdates() || s != query.SchemaCounters{}
	out.NodesCreated, out.NodesDeleted = uint64(c.NodesCreated), uint64(c.NodesDeleted)
	out.RelationshipsCreated, out.RelationshipsDeleted = uint64(c.RelationshipsCreated), uint64(c.RelationshipsDeleted)
	out.PropertiesSet, out.LabelsAdded, out.LabelsRemoved = uint64(c.PropertiesSet), uint64(c.LabelsAdded), uint64(c.LabelsRemoved)
	out.IndexesAdded, out.IndexesRemoved = uint64(s.IndexesAdded), uint64(s.IndexesRemoved)
	out.ConstraintsAdded, out.ConstraintsRemoved = uint64(s.ConstraintsAdded), uint64(s.ConstraintsRemoved)
}

// PlanProto converts a plan, with the figures of PROFILE.
func PlanProto(p *explain.Node) *pb.PlanNode {
	if p == nil {
		return nil
	}
	out := &pb.PlanNode{Operator: p.Operator, Arguments: p.Args}
	if p.Estimate >= 0 {
		out.EstimatedRows = &p.Estimate
	}
	if p.Profiled {
		out.Bytes, out.Memory, out.Spilled = uint64(p.Bytes), uint64(p.Memory), uint64(p.Spilled)
		out.Compared, out.Candidates = uint64(p.Compared), uint64(p.Candidates)
		out.Rows, out.Batches, out.ShardRequests = uint64(p.Rows), uint64(p.Batches), uint64(p.Requests)
		out.Time = durationpb.New(p.Time.Round(time.Nanosecond))
		if p.Metered {
			out.CacheHits, out.CacheMisses = new(uint64(p.Hits)), new(uint64(p.Misses))
			out.LargeValues = new(uint64(p.Large))
		}
		if p.Wired {
			out.WireRequests, out.WireSent = new(uint64(p.Calls)), new(uint64(p.Sent))
			out.WireReceived, out.Edges = new(uint64(p.Received)), new(uint64(p.Edges))
		}
	}
	for _, c := range p.Children {
		out.Children = append(out.Children, PlanProto(c))
	}
	return out
}
