package changes

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/changes/sink"
	"github.com/hopgate/hopgate/internal/cli/client"
)

// keepEvery is how often the token of a busy stream is stored, and about how long that of an idle one waits.
const keepEvery = time.Second

var formats = map[string]pb.ChangeFormat{
	"json": pb.ChangeFormat_CHANGE_FORMAT_JSON, "debezium": pb.ChangeFormat_CHANGE_FORMAT_DEBEZIUM,
}

// Command returns the command.
func Command(s *client.Server) *cobra.Command {
	var format, file, to string
	var once bool
	req := &pb.ChangesRequest{}
	cmd := &cobra.Command{
		Use: "changes", Short: "Follow what changes in a graph, as lines of JSON",
		Long: `Follow what changes in a graph: a line of JSON for each vertex or edge that a transaction has created, changed or deleted, in the order of
the commits, until interrupted. With --state, the next run continues where this one has ended; an interrupted write repeats events and loses none.
With --to, the events go to Kafka or to NATS JetStream, which keep the position with them: each event is there once, whatever is killed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, ok := formats[format]
			if !ok {
				return cli.Usagef("--format %s: must be json or debezium", format)
			}
			if to != "" && file != "" {
				return cli.Usagef("--state: must not be given with --to, since the sink keeps the token")
			}
			kept, err := openState(file)
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			if kept.kept != "" {
				req.From = kept.kept
			}
			req.Graph, req.Format, req.Heartbeat = s.Graph, f, durationpb.New(keepEvery)
			if once {
				req.Wait = durationpb.New(0)
			}
			conn, ctx, cancel, err := s.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer conn.Close()
			lost := seldom(func(err error) {
				fmt.Fprintf(cmd.ErrOrStderr(), "graphctl: the stream continues later: %s\n", cli.OneLine(status.Convert(err).Message()))
			})
			open := func(from string) *Stream {
				r := proto.CloneOf(req)
				r.From = cmp.Or(from, r.From)
				return NewStream(pb.NewGraphServiceClient(conn), r, lost)
			}
			if to == "" {
				err = follow(ctx, open(""), cmd.OutOrStdout(), kept)
			} else {
				err = ship(ctx, to, sink.Options{Graph: s.Graph, Debezium: format == "debezium", Lost: lost}, open)
			}
			if cmd.Context().Err() != nil {
				return nil // interrupted
			}
			return err
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "where the events go: kafka://BROKER[,BROKER]/TOPIC or nats://SERVER[,SERVER]/SUBJECT; default: standard output")
	cmd.Flags().StringVar(&req.From, "from", "current", "where to begin unless --state or --to knows: earliest, current, snapshot or a token")
	cmd.Flags().StringVar(&req.Selectors, "selectors", "", "JSON list of selectors, as db.cdc.query takes them; default: all events")
	cmd.Flags().StringVar(&format, "format", "json", "json or debezium")
	cmd.Flags().BoolVar(&once, "once", false, "end after the changes that there are")
	cmd.Flags().StringVar(&file, "state", "", "file that keeps the token of what has been written")
	return cmd
}

// seldom tells of the first error of each second. It may be called by several goroutines.
func seldom(tell func(error)) func(error) {
	var mu sync.Mutex
	var last time.Time
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= time.Second {
			last = now
			tell(err)
		}
	}
}

// follow writes the events of a stream, and keeps its token, until it ends.
func follow(ctx context.Context, stream *Stream, out io.Writer, kept *state) (err error) {
	w := bufio.NewWriterSize(out, 64<<10)
	token := "" // of what has been written
	defer func() {
		if token != "" {
			err = errors.Join(err, kept.keep(token))
		}
	}()
	var last time.Time
	for {
		res, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range res.GetEvents() {
			_, _ = w.Write(e.GetJson())
			_ = w.WriteByte('\n')
		}
		if err := w.Flush(); err != nil { // which has the error of a write
			return err
		}
		token = res.GetToken()
		if now := time.Now(); now.Sub(last) >= keepEvery {
			if err := kept.keep(token); err != nil {
				return err
			}
			last = now
		}
	}
}
