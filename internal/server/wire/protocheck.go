package wire

import (
	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/shard"
)

// CheckReport converts the report of a check of a graph.
func CheckReport(name string, r *shard.CheckReport) *pb.CheckReport {
	out := &pb.CheckReport{
		Graph: name, Vertices: r.Vertices, Edges: r.Edges, IndexEntries: r.Entries, LargeValues: r.LargeValues,
		Files: r.Files, FileBytes: r.FileBytes,
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, &pb.CheckFinding{
			Kind: f.Kind, Count: f.Count, Mended: f.Repaired, Mendable: f.Repairable, Examples: f.Examples,
		})
	}
	return out
}
