package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/loader/social"
	"github.com/hopgate/hopgate/internal/size"
)

func newGenerate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "generate", Short: "Write example graphs as files that load reads", Args: client.OnlySubcommands,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // of the subcommand that the user probably meant
		RunE:               func(*cobra.Command, []string) error { return cli.Usagef("generate: name what to generate: social") },
	}
	cmd.AddCommand(newGenerateSocial())
	return cmd
}

func newGenerateSocial() *cobra.Command {
	o := social.Options{Workers: runtime.GOMAXPROCS(0)}
	var dir, comments string
	cmd := &cobra.Command{
		Use: "social --persons N -d DIR", Short: "Write a deterministic LDBC-like social network as CSV", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("comment-bytes") {
				var err error
				if o.CommentMin, o.CommentMax, err = parseSizes(comments); err != nil {
					return err
				}
			}
			if err := o.Validate(); err != nil {
				return cli.Error{Code: cli.Usage, Err: fmt.Errorf("generate social: %w", err)}
			}
			start := time.Now()
			c, err := social.Write(cmd.Context(), dir, o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s and %s to %s: %.1f MB in %.1f s\n",
				size.Count(c.Vertices, "vertex"), size.Count(c.Edges, "edge"), dir, float64(c.Bytes)/1e6, time.Since(start).Seconds())
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Persons, "persons", 0, "number of persons")
	f.Uint64Var(&o.Seed, "seed", 0, "seed; the same seed gives the same files")
	f.StringVar(&comments, "comment-bytes", "", "write comments too, with contents of A..B bytes")
	f.StringVarP(&dir, "dir", "d", "", "directory to write to")
	_ = cmd.MarkFlagRequired("persons")
	_ = cmd.MarkFlagRequired("dir")
	return cmd
}

// parseSizes parses A..B, or A; sizes may have units.
func parseSizes(s string) (least, most int, err error) {
	lo, hi, ok := strings.Cut(s, "..")
	if !ok {
		hi = lo
	}
	a, err := size.Parse(lo)
	if err != nil {
		return 0, 0, cli.Usagef("--comment-bytes %s: %v", strconv.Quote(s), err)
	}
	b, err := size.Parse(hi)
	if err != nil {
		return 0, 0, cli.Usagef("--comment-bytes %s: %v", strconv.Quote(s), err)
	}
	if b == 0 || b < a {
		return 0, 0, cli.Usagef("--comment-bytes %s: must be A..B with 0 <= A <= B and 0 < B", s)
	}
	return int(a), int(b), nil
}
