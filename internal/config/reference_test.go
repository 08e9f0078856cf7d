package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/docs"
)

// TestReference loads the example of each setting, which must be valid and differ from the default, and compares the page made of
// them.
func TestReference(t *testing.T) {
	text, err := os.ReadFile(docs.Path(t, "internal/docs/testdata/settings"))
	require.NoError(t, err)
	c := Default()
	settings := c.settings()
	defaults := map[string]string{}
	for _, s := range settings {
		defaults[s.name] = s.value.String()
	}
	var b strings.Builder
	b.WriteString(docs.Generated + `# Settings

A setting is a flag of the server, an environment variable, and a key of the YAML file that ` + "`--config`" + ` names. The flag overrides the
environment, which overrides the file. ` + "`hopgate config`" + ` prints the settings in force:

` + "```sh\nHOPGATE_MAX_ROWS=1000 hopgate config --query-timeout 5s\n```\n\n" +
		"Sizes are bytes with a unit, such as `64MiB`; durations are such as `500ms`, `1m30s` and `24h`. [operations.md](../operations.md#settings-of-a-running-server) says which settings a running\nserver reads again.\n")
	for line := range strings.Lines(string(text)) {
		if section, ok := strings.CutPrefix(line, "# "); ok {
			if !strings.HasSuffix(section, ".\n") {
				fmt.Fprintf(&b, "\n## %s", section)
			}
			continue
		}
		require.NotEmpty(t, settings, "%q is not a setting", line)
		name, flags, _ := strings.Cut(strings.TrimSpace(line), " ")
		s := settings[0]
		settings = settings[1:]
		require.Equal(t, s.name, name, "testdata/settings has the order of the settings")
		got, err := load(t, strings.Fields(flags), nil)
		require.NoError(t, err, line)
		for _, changed := range got.settings() {
			if changed.name == name {
				require.NotEqual(t, defaults[name], changed.value.String(), "the example of %s is the default", name)
			}
		}
		shown := "nothing"
		if d := defaults[name]; d != "" {
			shown = "`" + d + "`"
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n```sh\nhopgate serve %s\n```\n\nDefault: %s. Environment: `%s`. Key of the file: `%s`.\n",
			name, strings.ReplaceAll(strings.ToUpper(s.usage[:1])+s.usage[1:], "*", `\*`), flags, shown, s.env(), s.key())
	}
	require.Empty(t, settings, "these settings have no example in testdata/settings")
	docs.Compare(t, "docs/reference/settings.md", b.String())
}
