package diagnose

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/version"
)

// DebugInfo returns the command that collects the state of the server.
func DebugInfo(s *client.Server) *cobra.Command {
	var out string
	var seconds int
	cmd := &cobra.Command{
		Use: "debuginfo", Short: "Collect the state of the server into one file",
		Long: "Collect the state of the server into one tar.gz: configuration with its secrets masked, metrics, goroutines,\n" +
			"profiles, running and slow queries with their plans, what ran when memory was short, schema, statistics, versions. It contains the text of statements.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if seconds < 0 || seconds > 600 {
				return cli.Usagef("--seconds: must be from 0 to 600")
			}
			if out == "" {
				out = "hopgate-debuginfo-" + time.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
			}
			var b bytes.Buffer
			if err := debugInfo(cmd.Context(), s, &b, time.Duration(seconds)*time.Second); err != nil {
				return err
			}
			if err := os.WriteFile(out, b.Bytes(), 0o600); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "debug information:", out)
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "out", "O", "", "the file to write; default hopgate-debuginfo-TIME.tar.gz")
	cmd.Flags().IntVar(&seconds, "seconds", 5, "how long to profile the CPU; 0 omits the profile")
	return cmd
}

// debugInfo writes the archive.
func debugInfo(ctx context.Context, s *client.Server, w io.Writer, watch time.Duration) error {
	conn, ctx, cancel, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	defer conn.Close()
	c := pb.NewAdminServiceClient(conn)
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	now := time.Now()
	add := func(name string, data []byte) error {
		h := &tar.Header{Name: "debuginfo/" + name, Mode: 0o600, Size: int64(len(data)), ModTime: now}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		_, err := archive.Write(data)
		return err
	}
	if err := serverFiles(ctx, c, add); err != nil {
		return err
	}
	answers := []struct {
		name string
		call func() (proto.Message, error)
	}{
		{"version.json", func() (proto.Message, error) { return c.Version(ctx, &pb.VersionRequest{}) }},
		{"running.json", func() (proto.Message, error) { return c.RunningQueries(ctx, &pb.RunningQueriesRequest{}) }},
		{"slowlog.json", func() (proto.Message, error) { return c.SlowLog(ctx, &pb.SlowLogRequest{}) }},
		{"schema.json", func() (proto.Message, error) { return c.Schema(ctx, &pb.SchemaRequest{Graph: s.Graph}) }},
		{"stats.json", func() (proto.Message, error) { return c.Stats(ctx, &pb.StatsRequest{Graph: s.Graph}) }},
	}
	for _, f := range answers {
		res, err := f.call()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		text, err := protojson.MarshalOptions{Multiline: true}.Marshal(res)
		if err != nil {
			return err
		}
		if err := add(f.name, text); err != nil {
			return err
		}
	}
	if err := add("client.txt", []byte(version.Build()+"\n")); err != nil {
		return err
	}
	if watch > 0 {
		p, err := takeProfile(ctx, c, &pb.ProfileRequest{Kind: "cpu", Duration: durationpb.New(watch)})
		if err != nil {
			return fmt.Errorf("cpu.pb.gz: %w", err)
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			return err
		}
		if err := add("cpu.pb.gz", b.Bytes()); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

// serverFiles adds the files that the server produces.
func serverFiles(ctx context.Context, c pb.AdminServiceClient, add func(name string, data []byte) error) error {
	stream, err := c.DebugInfo(ctx, &pb.DebugInfoRequest{})
	if err != nil {
		return err
	}
	var name string
	var data []byte
	for {
		piece, err := stream.Recv()
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		if name != "" && (end || piece.GetFile() != "") {
			if err := add(name, data); err != nil {
				return err
			}
			data = nil
		}
		if end {
			return nil
		}
		if piece.GetFile() != "" {
			name = piece.GetFile()
		}
		data = append(data, piece.GetChunk()...)
	}
}
