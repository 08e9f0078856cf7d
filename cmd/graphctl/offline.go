package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
)

// newRestore creates data directories by the server's program.
func newRestore(a *app) *cobra.Command {
	var r cli.Restore
	cmd := &cobra.Command{
		Use: "restore SRC --data-dir DIR", Short: "Create a data directory from a backup", Args: cobra.ExactArgs(1),
		Long: cli.RestoreHelp + "\n\nIt runs hopgate restore, found beside graphctl or on the path.",
		RunE: func(cmd *cobra.Command, args []string) error { return a.hopgate(cmd, "restore", args) },
	}
	r.Flags(cmd)
	return cmd
}

func newCheck(a *app) *cobra.Command {
	var dir string
	c := cli.Check{Of: func(cmd *cobra.Command, c *cli.Check, progress func(string, uint64)) (*pb.CheckReport, error) {
		return a.checkServer(cmd.Context(), c.Repair, progress)
	}}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Verify edges, labels, indexes, counters, large values and checksums",
		Long: `Verify one state of a graph while the server runs: every edge in the lists of both of its ends, labels, index entries,
constraints, counters, large values, next ids and the checksums of all files. --data-dir checks the directory of a
stopped server: it runs hopgate check, found beside graphctl or on the path. The exit code is 1 if a fault remains.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" {
				return a.hopgate(cmd, "check", args)
			}
			return c.Run(cmd, args)
		},
	}
	c.Flags(cmd)
	cmd.Flags().StringVar(&dir, "data-dir", "", "check a data directory without a server")
	return cmd
}

func (a *app) checkServer(ctx context.Context, repair bool, show func(string, uint64)) (*pb.CheckReport, error) {
	conn, ctx, cancel, err := a.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	stream, err := pb.NewAdminServiceClient(conn).Check(ctx, &pb.CheckRequest{Graph: a.Graph, Repair: repair})
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

// hopgate runs a command of the server's program, which has the engine, with the arguments of this one and its flags, apart from some.
func (a *app) hopgate(cmd *cobra.Command, name string, args []string, without ...string) error {
	program, err := findHopgate()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd.Name(), err)
	}
	line := []string{name}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		inherited := cmd.InheritedFlags().Lookup(f.Name) != nil && f.Name != "graph" && f.Name != "timeout"
		if inherited || slices.Contains(without, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			line = append(line, "--"+f.Name+"="+v)
		}
	})
	child := exec.CommandContext(cmd.Context(), program, append(append(line, "--"), args...)...) //nolint:gosec // It is the server's program.
	child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	child.Cancel = func() error {
		if err := child.Process.Signal(syscall.SIGTERM); err != nil {
			return child.Process.Kill()
		}
		return nil
	}
	err = child.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); ok && child.ProcessState.ExitCode() > 0 {
		return cli.Error{Code: child.ProcessState.ExitCode()} // it has printed the reason
	}
	return err
}

// findHopgate finds the server's program beside this one or on the path.
func findHopgate() (string, error) {
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), "hopgate")); err == nil {
			return beside, nil
		}
	}
	program, err := exec.LookPath("hopgate")
	if err != nil {
		return "", errors.New("this runs the program hopgate, which is neither beside graphctl nor on the path")
	}
	return program, nil
}
