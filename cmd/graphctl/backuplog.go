package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/backup"
	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/graph"
)

// shipSettings are the flags of graphctl backup --log.
type shipSettings struct {
	log, once bool
	interval  time.Duration
}

// sayEvery is how often a shipper that ships nothing says that it is alive.
const sayEvery = time.Minute

func (s *shipSettings) check(changed func(string) bool) error {
	switch {
	case !s.log && (s.once || changed("interval")):
		return cli.Usagef("--once and --interval go with --log")
	case s.once && changed("interval"):
		return cli.Usagef("--once and --interval: choose one")
	case s.log && s.interval <= 0:
		return cli.Usagef("--interval: must be positive, is %v", s.interval)
	}
	return nil
}

// shipLogs ships the commit logs of all graphs, or of some, once or until the context ends. It writes a line of JSON for each round of a graph
// that has shipped something, or has something to warn of.
func (a *app) shipLogs(ctx context.Context, out io.Writer, r *backup.Repo, only []string, s *shipSettings) error {
	conn, ctx, cancel, err := a.Dial(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	defer conn.Close()
	src := logSource{pb.NewAdminServiceClient(conn)}
	x := backup.NewShipper(r, src)
	log := slog.New(slog.NewJSONHandler(out, nil))
	said := map[string]time.Time{}
	next := time.NewTicker(s.interval)
	defer next.Stop()
	for {
		err := shipRound(ctx, log, x, src, only, said)
		switch {
		case ctx.Err() != nil:
			return nil // the next run continues after the last segment
		case s.once:
			return err
		case err != nil:
			log.Error("ship the commit log; the next round tries again", slog.String("error", err.Error()))
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// shipRound ships what there is of all graphs. A graph that cannot be shipped keeps no other from being.
func shipRound(ctx context.Context, log *slog.Logger, x *backup.Shipper, src logSource, graphs []string, said map[string]time.Time) error {
	if graphs == nil {
		var err error
		if graphs, err = src.graphs(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range graphs {
		round, err := x.Ship(ctx, name)
		errs = append(errs, err)
		for _, w := range round.Warnings {
			log.Warn("a restore cannot cross this", slog.String("code", w.Code), slog.String("graph", name), slog.String("reason", w.Text))
		}
		if err != nil || round.AsOf.IsZero() || round.Commits == 0 && time.Since(said[name]) < sayEvery {
			continue
		}
		said[name] = time.Now()
		log.Info("shipped", slog.String("graph", name), slog.Uint64("commits", round.Commits), slog.Int("bytes", round.Bytes), slog.Int("segments", round.Segments),
			slog.Uint64("last_commit", round.Last.Commit), slog.Time("last_time", time.Unix(0, round.Last.Time).UTC()), slog.Time("as_of", round.AsOf.UTC()))
	}
	return errors.Join(errs...)
}

// logSource reads commit logs from a server.
type logSource struct{ c pb.AdminServiceClient }

// graphs returns the names of all graphs.
func (s logSource) graphs(ctx context.Context) ([]string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := s.c.ReadLog(ctx, &pb.ReadLogRequest{})
	if err != nil {
		return nil, err
	}
	res, err := stream.Recv()
	return res.GetState().GetGraphs(), err
}

// ReadLog implements backup.LogSource.
func (s logSource) ReadLog(
	ctx context.Context, name string, after *uint64, begin func(backup.LogState) error, pieces func(commits []byte, names changelog.Names) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := s.c.ReadLog(ctx, &pb.ReadLogRequest{Graph: name, After: after})
	if err != nil {
		return err
	}
	res, err := stream.Recv()
	if err != nil {
		return fmt.Errorf("graph %s: %w", name, err)
	}
	st := res.GetState()
	err = begin(backup.LogState{
		ID: st.GetGraphId(), Off: st.GetMode() == changelog.Off.String(), AfterTime: st.GetAfterTime(), Now: st.GetNow().AsTime(),
		First: backup.Point{Commit: st.GetFirst(), Time: st.GetFirstTime()}, Last: backup.Point{Commit: st.GetLast(), Time: st.GetLastTime()},
	})
	if err != nil {
		return err
	}
	return receiveCommits(stream, pieces)
}

// receiveCommits joins pieces to whole commits.
func receiveCommits(stream grpc.ServerStreamingClient[pb.ReadLogResponse], pieces func(commits []byte, names changelog.Names) error) error {
	var whole []byte
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p := res.GetCommits()
		whole = append(whole, p.GetCommits()...)
		if !p.GetWhole() {
			continue
		}
		n := changelog.Names{Labels: p.GetLabels(), Types: p.GetTypes(), Props: p.GetProperties()}
		for _, set := range p.GetLabelSets() {
			var ls []graph.LabelID
			for _, l := range set.GetLabels() {
				ls = append(ls, graph.LabelID(l))
			}
			n.Sets = append(n.Sets, ls)
		}
		if err := pieces(whole, n); err != nil {
			return err
		}
		whole = whole[:0]
	}
}
