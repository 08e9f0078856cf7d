package diagnose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/flame"
)

// Pprof returns the command that takes profiles.
func Pprof(s *client.Server) *cobra.Command {
	var seconds int
	var from, until, base string
	var w profileWriter
	cmd := &cobra.Command{
		Use: "pprof cpu|heap|goroutine|mutex|block|kept|FILE", Short: "Take a profile of the live server, or of its past; --flame draws it",
		Long: `Take a profile of the live server, or read one from a file in pprof's format.

With --seconds, heap, mutex and block show the change in that time instead of everything since the start. The server profiles
its CPU and its heap continuously and keeps the latest profiles: kept lists them, and cpu and heap with --from and
--until, times such as 2026-01-02T15:04:05Z or durations before now such as 90m, return those of that period. --base FILE
compares with another profile.`,
		Args: cobra.ExactArgs(1), ValidArgs: []string{"cpu", "heap", "goroutine", "mutex", "block", "kept"},
		RunE: func(cmd *cobra.Command, args []string) error {
			w.w, w.kind = cmd.OutOrStdout(), args[0]
			if seconds < 1 || seconds > 600 {
				return cli.Usagef("--seconds: must be from 1 to 600")
			}
			past := from != "" || until != ""
			var p *profile.Profile
			var err error
			switch kind := args[0]; {
			case kind == "kept":
				return listProfiles(cmd.Context(), s, cmd.OutOrStdout())
			case past && kind != "cpu" && kind != "heap":
				return cli.Usagef("--from and --until: go with cpu and heap")
			case past:
				p, err = pastProfile(cmd.Context(), s, kind, from, until)
			case slices.Contains(cmd.ValidArgs, kind):
				delta := kind != "cpu" && kind != "goroutine" && cmd.Flags().Changed("seconds")
				p, err = takeFrom(cmd.Context(), s, kind, time.Duration(seconds)*time.Second, delta)
			default:
				p, err = readProfile(kind)
			}
			if err == nil && base != "" {
				w.base, err = readProfile(base)
			}
			if err != nil {
				return err
			}
			return w.write(p)
		},
	}
	cmd.Flags().IntVar(&seconds, "seconds", 10, "how long to watch")
	cmd.Flags().StringVar(&from, "from", "", "the beginning of a time in the past")
	cmd.Flags().StringVar(&until, "until", "", "its end, now if there is none")
	cmd.Flags().StringVar(&base, "base", "", "a file with a profile (pprof's format) to compare with")
	cmd.Flags().StringVar(&w.flame, "flame", "", "write a self-contained flame-graph page to this file")
	cmd.Flags().StringVarP(&w.out, "out", "O", "", "write the profile to this file (pprof's format)")
	return cmd
}

// readProfile reads a profile from a file.
func readProfile(path string) (*profile.Profile, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("pprof %s: must be cpu, heap, goroutine, mutex, block, kept or a file", path)
	}
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("pprof: %s: %w", path, err)
	}
	return p, nil
}

// listProfiles lists the profiles that the server keeps.
func listProfiles(ctx context.Context, s *client.Server, w io.Writer) error {
	conn, ctx, cancel, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	defer conn.Close()
	res, err := pb.NewAdminServiceClient(conn).KeptProfiles(ctx, &pb.KeptProfilesRequest{})
	if err != nil {
		return err
	}
	for _, p := range res.GetProfiles() {
		if _, err := fmt.Fprintf(w, "%s  %-4s  %8d bytes\n", p.GetTime().AsTime().Format(time.RFC3339), p.GetKind(), p.GetBytes()); err != nil {
			return err
		}
	}
	return nil
}

// pastProfile fetches the kept profiles of a period, merged.
func pastProfile(ctx context.Context, s *client.Server, kind, from, until string) (*profile.Profile, error) {
	now := time.Now()
	times := [2]time.Time{time.Unix(0, 0), now}
	for i, f := range []struct{ flag, text string }{{"--from", from}, {"--until", until}} {
		if f.text == "" {
			continue
		}
		if before, err := time.ParseDuration(f.text); err == nil {
			times[i] = now.Add(-before)
		} else if times[i], err = time.Parse(time.RFC3339, f.text); err != nil {
			return nil, cli.Usagef("%s: must be a time such as 2026-01-02T15:04:05Z or a duration before now such as 90m", f.flag)
		}
	}
	conn, ctx, cancel, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	return takeProfile(ctx, pb.NewAdminServiceClient(conn), &pb.ProfileRequest{Kind: kind, From: timestamppb.New(times[0]), Until: timestamppb.New(times[1])})
}

// profileWriter writes a profile in the requested forms.
type profileWriter struct {
	w          io.Writer
	kind       string
	base       *profile.Profile // to compare with, or nil
	out, flame string           // files
}

// write writes the requested files, or lists the functions with the largest values.
func (w *profileWriter) write(p *profile.Profile) error {
	if w.base != nil && p.SampleType[flame.SampleIndex(p)].Type != w.base.SampleType[flame.SampleIndex(w.base)].Type {
		return cli.Usagef("--base: is a profile of %s, not of %s", w.base.SampleType[flame.SampleIndex(w.base)].Type, p.SampleType[flame.SampleIndex(p)].Type)
	}
	if w.out == "" && w.flame == "" {
		return printTop(w.w, p, w.base, 25)
	}
	if w.out != "" {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(w.out, b.Bytes(), 0o666); err != nil {
			return err
		}
		fmt.Fprintln(w.w, "profile:", w.out)
	}
	if w.flame != "" {
		page, err := flamePage(p, w.base, w.kind)
		if err != nil {
			return err
		}
		if err := os.WriteFile(w.flame, page, 0o666); err != nil {
			return err
		}
		fmt.Fprintln(w.w, "flame graph:", w.flame)
	}
	return nil
}

// profile fetches a profile from the server; delta restricts it to what was added during watch.
func takeFrom(ctx context.Context, s *client.Server, kind string, watch time.Duration, delta bool) (*profile.Profile, error) {
	conn, ctx, cancel, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	client := pb.NewAdminServiceClient(conn)
	ask := &pb.ProfileRequest{Kind: kind, Duration: durationpb.New(watch)}
	first, err := takeProfile(ctx, client, ask)
	if err != nil || !delta {
		return first, err
	}
	select {
	case <-time.After(watch):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	second, err := takeProfile(ctx, client, ask)
	if err != nil {
		return nil, err
	}
	first.Scale(-1)
	p, err := profile.Merge([]*profile.Profile{first, second})
	if err != nil {
		return nil, fmt.Errorf("pprof: %w", err)
	}
	p.TimeNanos, p.DurationNanos = second.TimeNanos, int64(watch)
	return p, nil
}

func takeProfile(ctx context.Context, client pb.AdminServiceClient, ask *pb.ProfileRequest) (*profile.Profile, error) {
	stream, err := client.Profile(ctx, ask)
	if err != nil {
		return nil, err
	}
	var data []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		data = append(data, part.GetChunk()...)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("pprof: the server's answer is not a profile: %w", err)
	}
	return p, nil
}
