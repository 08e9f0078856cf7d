package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/size"
)

func load(t *testing.T, args, environ []string) (Config, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Flags(fs)
	require.NoError(t, fs.Parse(args))
	return Load(fs, environ)
}

// A flag overrides the environment, which overrides the file.
func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte("memory: 1GiB\nshards: 2\nhttp: 127.0.0.1:1\n"), 0o600))
	c, err := load(t, []string{"--config", file, "--http", "127.0.0.1:3"}, []string{"HOPGATE_HTTP=127.0.0.1:2", "HOPGATE_SHARDS=3"})
	require.NoError(t, err)
	require.Equal(t, size.Bytes(1<<30), c.Memory)
	require.Equal(t, 3, c.Shards)
	require.Equal(t, "127.0.0.1:3", c.HTTP)
}

// Errors name unknown settings.
func TestUnknown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte("memory: 1GiB\nshrads: 2\n"), 0o600))
	_, err := load(t, []string{"--config", file}, nil)
	require.ErrorContains(t, err, ":2: shrads: there is no such setting")
	_, err = load(t, nil, []string{"HOPGATE_SHRADS=1"})
	require.ErrorContains(t, err, "HOPGATE_SHRADS: there is no such setting")
	_, err = load(t, nil, []string{"HOPGATE_SHARDS=x"})
	require.ErrorContains(t, err, `HOPGATE_SHARDS: "x" is not a whole number`)
	_, err = load(t, []string{"--shards", "-1", "--log-level", "loud"}, nil)
	require.ErrorContains(t, err, "shards: must be from 0 to 1024, is -1")
	require.ErrorContains(t, err, `log-level: must be debug, info, warn or error, is "loud"`)
}

// YAML parses its own output to the same settings.
func TestYAML(t *testing.T) {
	c := Default()
	c.Memory, c.TestProcedures, c.ReadyFile = 3<<30, true, "a: b"
	c.BoltIfFree = false // the file asks for its address
	file := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(file, c.YAML(), 0o600))
	got, err := load(t, []string{"--config", file}, nil)
	require.NoError(t, err)
	require.Equal(t, c, got)
}

// Scripts in testdata: the arguments of a command line, the environment and, after a line of ---, the file; then the
// configuration that is in force, or the error.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			environ, text, hasFile := strings.Cut(d.Input, "---\n")
			var args []string
			for _, a := range d.CmdArgs {
				args = append(args, "--"+a.String())
			}
			if hasFile {
				file := filepath.Join(t.TempDir(), "hopgate.yaml")
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
				args = append(args, "--config", file)
			}
			c, err := load(t, args, strings.Split(strings.TrimSpace(environ), "\n"))
			if err != nil {
				return regexp.MustCompile(`\S*/hopgate\.yaml`).ReplaceAllString(err.Error(), "hopgate.yaml") + "\n"
			}
			return string(c.YAML())
		})
	})
}

// An explicit Bolt address must be free, even if it equals the default.
func TestBoltIfFree(t *testing.T) {
	for _, c := range []struct {
		args, environ []string
		want          bool
	}{
		{nil, nil, true},
		{[]string{"--bolt-max-connections", "3"}, nil, true},
		{[]string{"--bolt", "127.0.0.1:7687"}, nil, false},
		{nil, []string{"HOPGATE_BOLT=127.0.0.1:0"}, false},
	} {
		got, err := load(t, c.args, c.environ)
		require.NoError(t, err)
		require.Equal(t, c.want, got.BoltIfFree, c)
	}
	_, err := load(t, []string{"--bolt", "x", "--bolt-tls", "maybe", "--bolt-agent", "new", "--bolt-origins", "x", "--bolt-tx-idle-timeout", "0s"}, nil)
	for _, want := range []string{"bolt: must be an address", "bolt-tls: must be", "bolt-agent: must be", "bolt-origins: must be origins", "bolt-tx-idle-timeout: must be"} {
		require.ErrorContains(t, err, want)
	}
}

// Every setting has a flag, and no two settings share a name.
func TestSettings(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Flags(fs)
	c := Default()
	require.Len(t, c.settings(), reflect.TypeFor[Config]().NumField()-2+reflect.TypeFor[syntax.Limits]().NumField())
	for _, s := range c.settings() {
		require.NotNil(t, fs.Lookup(s.name))
		require.NotEmpty(t, s.usage)
	}
}

func TestSplit(t *testing.T) {
	c := Default()
	for _, memory := range []size.Bytes{0, 64 << 20, 1 << 30, 64 << 30} {
		for _, shards := range []int{1, 16, 1024} {
			c.Memory = memory
			b := c.Split(shards)
			require.Positive(t, b.Total)
			require.LessOrEqual(t, b.BlockCache+b.Topology+b.Query, b.Total)
			require.GreaterOrEqual(t, b.Memtable, int64(256<<10))
			if memory == 64<<30 {
				require.LessOrEqual(t, memtables*int64(shards)*b.Memtable, b.Total/10)
			}
			require.Positive(t, b.GoHeap)
		}
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]size.Bytes{"0": 0, "1KiB": 1024, "2 GiB": 2 << 30, "1.5MB": 1500000, "17": 17} {
		got, err := size.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "x", "-1", "1XiB", "1e300"} {
		_, err := size.Parse(text)
		require.Error(t, err, text)
	}
}
