package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

func newCheck(a *app) *cobra.Command {
	var repair bool
	var dir, output, progress string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Verify edges, labels, indexes, counters, large values and checksums",
		Long: `Verify one state of a graph while the server runs: every edge in the lists of both of its ends, labels, index entries,
constraints, counters, large values, next ids and the checksums of all files. --data-dir checks the directory of a
stopped server. The exit code is 1 if a fault remains.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usagef("--output %s: must be table or json", output)
			}
			if progress != "none" && progress != "plain" {
				return usagef("--progress %s: must be plain or none", progress)
			}
			show := func(stage string, records uint64) {
				if progress == "plain" && stage != "" {
					fmt.Fprintf(cmd.ErrOrStderr(), "check: %s, %d records\n", stage, records)
				}
			}
			var rep *pb.CheckReport
			var err error
			if dir != "" {
				rep, err = a.checkDir(cmd.Context(), dir, repair, show)
			} else {
				rep, err = a.checkServer(cmd.Context(), repair, show)
			}
			if err != nil {
				return err
			}
			if output == "json" {
				err = printJSON(cmd.OutOrStdout(), rep)
			} else {
				printCheck(cmd.OutOrStdout(), rep)
			}
			if wrong := faults(rep); err == nil && wrong > 0 {
				err = fmt.Errorf("check: %d faults in graph %s", wrong, rep.GetGraph())
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&repair, "repair", false, "repair what follows from the rest of the data; writers wait briefly")
	f.StringVar(&dir, "data-dir", "", "check a data directory without a server")
	f.StringVarP(&output, "output", "o", "table", "table or json")
	f.StringVar(&progress, "progress", "none", "plain: as lines; none")
	return cmd
}

// faults counts the remaining faults.
func faults(rep *pb.CheckReport) (n uint64) {
	for _, f := range rep.GetFindings() {
		n += f.GetCount() - f.GetMended()
	}
	return n
}

func (a *app) checkServer(ctx context.Context, repair bool, show func(string, uint64)) (*pb.CheckReport, error) {
	conn, ctx, cancel, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	stream, err := pb.NewAdminServiceClient(conn).Check(ctx, &pb.CheckRequest{Graph: a.graph, Repair: repair})
	if err != nil {
		return nil, err
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("check: the server sent no report")
		}
		if err != nil {
			return nil, err
		}
		if p := res.GetProgress(); p != nil {
			show(p.GetStage(), p.GetRecords())
		}
		if rep := res.GetReport(); rep != nil {
			return rep, nil
		}
	}
}

// checkDir checks a data directory that no server has open.
func (a *app) checkDir(ctx context.Context, dir string, repair bool, show func(string, uint64)) (_ *pb.CheckReport, err error) {
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	if _, err := os.Stat(filepath.Join(dir, "graphs")); err != nil {
		return nil, usagef("--data-dir %s is not a data directory: %v", dir, err)
	}
	store, err := local.Open(local.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler), Tuning: local.Tuning{CompactRecords: -1}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	rep, err := store.Check(ctx, a.graph, shard.CheckOptions{Repair: repair, Progress: show})
	if err != nil {
		return nil, err
	}
	out := &pb.CheckReport{
		Graph: a.graph, Vertices: rep.Vertices, Edges: rep.Edges, IndexEntries: rep.Entries, LargeValues: rep.LargeValues,
		Files: rep.Files, FileBytes: rep.FileBytes,
	}
	for _, f := range rep.Findings {
		out.Findings = append(out.Findings, &pb.CheckFinding{
			Kind: f.Kind, Count: f.Count, Mended: f.Repaired, Mendable: f.Repairable, Examples: f.Examples,
		})
	}
	return out, nil
}

func printCheck(w io.Writer, r *pb.CheckReport) {
	fmt.Fprintf(w, "graph %s: %d vertices, %d edges, %d index entries, %d large values; %d files, %s\n", r.GetGraph(), r.GetVertices(),
		r.GetEdges(), r.GetIndexEntries(), r.GetLargeValues(), r.GetFiles(), size(r.GetFileBytes()))
	if len(r.GetFindings()) == 0 {
		fmt.Fprintln(w, "nothing is wrong")
	}
	for _, f := range r.GetFindings() {
		state := "can be repaired with --repair"
		switch {
		case f.GetMended() > 0:
			state = fmt.Sprintf("%d repaired", f.GetMended())
		case !f.GetMendable():
			state = "cannot be repaired"
		}
		fmt.Fprintf(w, "%s: %d, %s\n", f.GetKind(), f.GetCount(), state)
		for _, e := range f.GetExamples() {
			fmt.Fprintf(w, "  %s\n", oneLine(e))
		}
	}
}
