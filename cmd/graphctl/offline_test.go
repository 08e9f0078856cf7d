package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cli"
)

// What needs the engine runs the server's program, with the flags and arguments of the command, and ends with its exit code.
func TestRunsHopgate(t *testing.T) {
	path := t.TempDir()
	t.Setenv("PATH", path)
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := newRoot(&app{})
		cmd.SetArgs(args)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	_, err := run("restore", "backups", "--data-dir", "d")
	require.ErrorContains(t, err, "restore: this runs the program hopgate, which is neither beside graphctl nor on the path")
	require.Equal(t, cli.Failed, cli.ExitCode(err))

	require.NoError(t, os.WriteFile(filepath.Join(path, "hopgate"), []byte("#!/bin/sh\nfor a; do echo \"$a\"; done\nexit 3\n"), 0o755))
	for _, c := range []struct {
		args []string
		want string
	}{
		{
			[]string{"load", "--offline", "--data-dir", "d", "--nodes", "A=a.csv,b.csv", "--nodes", "B=-b.csv", "--graph", "g", "--token", "secret", "--memory", "1GiB"},
			"import\n--data-dir=d\n--graph=g\n--memory=1GiB\n--nodes=A=a.csv,b.csv\n--nodes=B=-b.csv\n--\n",
		},
		{[]string{"restore", "-x", "--data-dir", "d", "--replicas", "3"}, ""},
		{[]string{"restore", "--data-dir", "d", "--replicas", "3", "--processes", "3", "--process", "0", "--timeout", "1m", "s3://b"}, "restore\n--data-dir=d\n--process=0\n--processes=3\n--replicas=3\n--timeout=1m0s\n--\ns3://b\n"},
		{[]string{"check", "--data-dir", "d", "--repair", "-o", "json"}, "check\n--data-dir=d\n--output=json\n--repair=true\n--\n"},
	} {
		out, err := run(c.args...)
		if c.want == "" {
			require.Equal(t, cli.Usage, cli.ExitCode(err), "%v", err)
			continue
		}
		require.Equal(t, c.want, out, "%q", c.args)
		require.Equal(t, 3, cli.ExitCode(err))
	}
}
