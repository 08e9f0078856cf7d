package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/propose"
	"github.com/hopgate/hopgate/internal/loader/text"
)

// InitFlags defines the flags of Propose.
func (l *Load) InitFlags(f *pflag.FlagSet) {
	f.StringVar(&l.out, "out", "", "with --init: file for the mapping, whose paths are then relative to its folder (default: standard output)")
	f.BoolVar(&l.partial, "partial", false, "with --init: leave out files for which there is no proposal")
}

// Propose prints a mapping for files, or writes it to --out. Its paths are relative to --dir, else to the folder of --out, else those of the
// arguments. A file that it leaves out is an error without --partial.
func (l *Load) Propose(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return Usagef("load --init: name files or directories")
	}
	for _, name := range []string{"nodes", "relationships", "id-type", "offline", "data-dir", "dry-run"} {
		if cmd.Flags().Changed(name) {
			return Usagef("--init loads nothing: it takes files, --dir, --out and --partial, not --%s", name)
		}
	}
	for _, name := range args {
		if isMapping(name) {
			return Usagef("--init is for files without a mapping; %s is one", name)
		}
	}
	text, err := l.proposed(cmd.Context(), args)
	var left *propose.PartialError
	if errors.As(err, &left) && text != nil {
		if !l.partial {
			return Error{Usage, fmt.Errorf("no proposal for %w; --partial leaves them out", err)}
		}
		for _, file := range left.Files {
			fmt.Fprintln(cmd.ErrOrStderr(), "left out:", file)
		}
		err = nil
	}
	if err != nil {
		return Error{Usage, err}
	}
	if l.out != "" {
		return os.WriteFile(l.out, text, 0o666)
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// proposed returns a mapping for files.
func (l *Load) proposed(ctx context.Context, args []string) ([]byte, error) {
	return propose.Propose(ctx, args, func(name string) string {
		dir := l.dir
		if dir == "" && l.out != "" {
			dir = filepath.Dir(l.out)
		}
		if dir == "" || text.IsURL(name) {
			return filepath.ToSlash(name)
		}
		base, err := filepath.Abs(dir)
		if err != nil {
			return name
		}
		abs, err := filepath.Abs(name)
		if err != nil {
			return name
		}
		rel, err := filepath.Rel(base, abs)
		if err != nil {
			return abs
		}
		return filepath.ToSlash(rel)
	})
}

// offer shows a mapping for files without neo4j-admin headers, and asks whether to load them with it. Without a terminal, or if the answer
// is no, the error says how to get a mapping.
func (l *Load) offer(cmd *cobra.Command, args []string, err error) (*loader.Plan, error) {
	text, none := l.proposed(cmd.Context(), args)
	if none != nil {
		return nil, err
	}
	asks := l.asks
	if asks == nil {
		asks = func() bool { return term.IsTerminal(int(os.Stdin.Fd())) && IsTerminal(cmd.ErrOrStderr()) }
	}
	if asks() {
		in := bufio.NewReader(cmd.InOrStdin())
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\nThe files have no headers of neo4j-admin. Load them with this mapping? [y/N] ", text)
		if answer, _ := in.ReadString('\n'); strings.EqualFold(strings.TrimSpace(answer), "y") || strings.EqualFold(strings.TrimSpace(answer), "yes") {
			m, err := mapping.Parse("the proposed mapping", text)
			if err != nil {
				return nil, Error{Usage, err}
			}
			return planned(loader.NewPlan(cmd.Context(), m, ".", in))
		}
	}
	names := make([]string, len(args))
	for i, name := range args {
		names[i] = shellQuote(name)
	}
	return nil, fmt.Errorf("%w; for a mapping to load the files with: graphctl load --init %s >mapping.yaml, then graphctl load mapping.yaml",
		err, strings.Join(names, " "))
}

// shellQuote quotes a word for a POSIX shell.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:,+@%=", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
