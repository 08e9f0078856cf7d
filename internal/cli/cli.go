// Package cli has what the two programs' command lines share: exit codes, the command that loads, and the flags of a restore.
//
//	graphctl load            ── cli.Load ── gRPC ──► server
//	hopgate import           ── cli.Load ── files of a data directory
//	graphctl load --offline  ── starts hopgate import
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"
)

// Exit codes other than 0.
const (
	Failed  = 1 // the server or the data
	Usage   = 2 // the command line
	Rejects = 3 // finished, with rejected rows

	Interrupted = 130 // ended by Ctrl-C
)

// Error ends the program with an exit code.
type Error struct {
	Code int
	Err  error // nil: the reason is printed already, and the text is ""
}

func (e Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e Error) Unwrap() error { return e.Err }

// Usagef returns an error in the command line.
func Usagef(format string, args ...any) error { return Error{Usage, fmt.Errorf(format, args...)} }

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	var exit Error
	switch {
	case errors.As(err, &exit):
		return exit.Code
	case isUsage(err):
		return Usage
	}
	return Failed
}

// isUsage recognises cobra's errors about the command line, which have no type.
func isUsage(err error) bool {
	for _, prefix := range []string{"unknown command", "accepts ", "requires ", "unknown flag", "invalid argument", "required flag"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

// Interruptible runs a program whose context ends at the first SIGINT or SIGTERM; a second one ends the program at once. The exit code of
// one that fails after Ctrl-C is Interrupted, as shells have it.
func Interruptible(run func(context.Context) int) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var interrupted atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		interrupted.Store(<-signals == os.Interrupt)
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		cancel()
	}()
	code := run(ctx)
	if code == Failed && interrupted.Load() {
		code = Interrupted
	}
	return code
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
