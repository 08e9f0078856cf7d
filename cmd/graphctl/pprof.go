package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

func newPprof(a *app) *cobra.Command {
	var seconds int
	var flame, out string
	cmd := &cobra.Command{
		Use: "pprof cpu|heap|goroutine|mutex|block", Short: "Take a profile of the live server; --flame draws it",
		Long: "Take a profile of the live server.\n\nWith --seconds, heap, mutex and block show what was added in that time instead of since the start.",
		Args: cobra.ExactArgs(1), ValidArgs: []string{"cpu", "heap", "goroutine", "mutex", "block"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(cmd.ValidArgs, args[0]) {
				return usagef("pprof %s: must be cpu, heap, goroutine, mutex or block", args[0])
			}
			if seconds < 1 || seconds > 600 {
				return usagef("--seconds: must be from 1 to 600")
			}
			delta := args[0] != "cpu" && args[0] != "goroutine" && cmd.Flags().Changed("seconds")
			p, err := a.profile(cmd.Context(), args[0], time.Duration(seconds)*time.Second, delta)
			if err != nil {
				return err
			}
			return writeProfile(cmd.OutOrStdout(), p, args[0], out, flame)
		},
	}
	cmd.Flags().IntVar(&seconds, "seconds", 10, "how long to watch")
	cmd.Flags().StringVar(&flame, "flame", "", "write a self-contained flame-graph page to this file")
	cmd.Flags().StringVarP(&out, "out", "O", "", "write the profile to this file (pprof's format)")
	return cmd
}

// writeProfile writes the files that are asked for, or lists the functions in which most was found.
func writeProfile(w io.Writer, p *profile.Profile, kind, out, flame string) error {
	if out == "" && flame == "" {
		return printTop(w, p, 25)
	}
	if out != "" {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(out, b.Bytes(), 0o666); err != nil {
			return err
		}
		fmt.Fprintln(w, "profile:", out)
	}
	if flame != "" {
		page, err := flamePage(p, kind)
		if err != nil {
			return err
		}
		if err := os.WriteFile(flame, page, 0o666); err != nil {
			return err
		}
		fmt.Fprintln(w, "flame graph:", flame)
	}
	return nil
}

// profile asks the server for a profile; delta gives what was added within the time.
func (a *app) profile(ctx context.Context, kind string, watch time.Duration, delta bool) (*profile.Profile, error) {
	conn, ctx, cancel, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	client := pb.NewAdminServiceClient(conn)
	first, err := takeProfile(ctx, client, kind, watch)
	if err != nil || !delta {
		return first, err
	}
	select {
	case <-time.After(watch):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	second, err := takeProfile(ctx, client, kind, watch)
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

func takeProfile(ctx context.Context, client pb.AdminServiceClient, kind string, watch time.Duration) (*profile.Profile, error) {
	stream, err := client.Profile(ctx, &pb.ProfileRequest{Kind: kind, Duration: durationpb.New(watch)})
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
		return nil, fmt.Errorf("pprof: the server's answer is no profile: %w", err)
	}
	return p, nil
}
