package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns the sections of a page about the commands of a program, each with its usage, its examples, and those of its flags
// that leave keeps. A command without an example fails the test.
func Commands(t testing.TB, root *cobra.Command, keep func(c *cobra.Command, f *pflag.Flag) bool) string {
	var b strings.Builder
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if c.Runnable() && c != root && !c.HasSubCommands() {
			if c.Example == "" {
				t.Errorf("%s has no example", c.CommandPath())
			}
			command(&b, c, keep)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	b.WriteString(flags("\n## Flags of every command\n", root.PersistentFlags(), func(*pflag.Flag) bool { return true }))
	return b.String()
}

// command appends the section of a command.
func command(b *strings.Builder, c *cobra.Command, keep func(c *cobra.Command, f *pflag.Flag) bool) {
	about := c.Long
	if about == "" {
		about = c.Short
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", c.CommandPath(), escape(strings.TrimSuffix(strings.TrimSpace(about), ".")+"."))
	if c.Example != "" {
		var lines []string
		for line := range strings.Lines(c.Example) {
			lines = append(lines, strings.TrimSpace(line))
		}
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.Join(lines, "\n"))
	}
	fmt.Fprintf(b, "\nUsage: `%s`\n", strings.TrimSuffix(c.UseLine(), " [flags]"))
	b.WriteString(flags("", c.NonInheritedFlags(), func(f *pflag.Flag) bool { return keep(c, f) }))
}

// flags returns a title and the table of flags, or nothing if there are none.
func flags(title string, fs *pflag.FlagSet, keep func(*pflag.Flag) bool) string {
	var b strings.Builder
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || !keep(f) {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		standard := ""
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" {
			standard = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, escape(f.Usage), standard)
	})
	if b.Len() == 0 {
		return ""
	}
	return title + "\n| flag | meaning | default |\n|---|---|---|\n" + b.String()
}

// escape writes a text so that Markdown shows it as it is, also in a table.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`, "_", `\_`, "[", `\[`).Replace(s)
}
