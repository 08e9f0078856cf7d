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
	out := &pb.QuerySummary{
		Counters: CountersProto(s.Counters, s.Schema), Type: s.Type,
		Plan: PlanProto(s.Plan), Truncated: s.Truncated, Notifications: NotificationsProto(s.Notifications),
		Cost: CostProto(&s.Cost), NextPageToken: s.NextPage,
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

// CostProto converts a cost.
func CostProto(t *cost.Told) *pb.Cost {
	out := &pb.Cost{
		Visits: uint64(t.Visits), Rows: uint64(t.Rows), Bytes: uint64(t.Bytes), Cpu: durationpb.New(t.CPU), Queue: durationpb.New(t.Queue),
	}
	if t.Estimate >= 0 {
		out.Estimate = &t.Estimate
	}
	return out
}

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
	return &pb.Counters{
		ContainsUpdates: c.ContainsUpdates() || s != query.SchemaCounters{},
		NodesCreated:    uint64(c.NodesCreated), NodesDeleted: uint64(c.NodesDeleted),
		RelationshipsCreated: uint64(c.RelationshipsCreated), RelationshipsDeleted: uint64(c.RelationshipsDeleted),
		PropertiesSet: uint64(c.PropertiesSet), LabelsAdded: uint64(c.LabelsAdded), LabelsRemoved: uint64(c.LabelsRemoved),
		IndexesAdded: uint64(s.IndexesAdded), IndexesRemoved: uint64(s.IndexesRemoved),
		ConstraintsAdded: uint64(s.ConstraintsAdded), ConstraintsRemoved: uint64(s.ConstraintsRemoved),
	}
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
