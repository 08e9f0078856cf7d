package cli

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/shard"
)

// shownRejects bounds the refused rows that are printed.
const shownRejects = 10

// progress prints the progress of a load.
type progress struct {
	w    io.Writer
	bar  bool // rewrite one line in place
	none bool

	mu      sync.Mutex
	rejects int
	open    bool // the bar's line is not complete
}

func newProgress(mode string, w io.Writer) (*progress, error) {
	p := &progress{w: w}
	switch mode {
	case "plain":
	case "none":
		p.none = true
	case "auto":
		p.bar = IsTerminal(w)
		p.none = !p.bar
	default:
		return nil, Usagef("--progress %s: must be auto, plain or none", mode)
	}
	return p, nil
}

// update prints the state of the load.
func (p *progress) update(s loader.Progress) {
	if p.none {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	line := progressLine(&s)
	if p.bar {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.open = true
		return
	}
	fmt.Fprintln(p.w, line)
}

// progressLine describes the progress of the load and, after a bar, of the current input.
func progressLine(s *loader.Progress) string {
	line := fmt.Sprintf("%s  %s rows  %s vertices  %s edges  %s rejects  %s",
		s.Elapsed.Round(time.Second), Grouped(s.Rows), Grouped(s.Vertices), Grouped(s.Edges), Grouped(s.Rejects), rateText(s.Rows, s.Elapsed))
	line = shareText(s.Done, s.Bytes) + line + leftText(s.Left)
	if len(s.Inputs) == 0 {
		return line
	}
	in := &s.Inputs[s.Current]
	return line + "  |  " + in.Path + "  " + shareText(in.Done, in.Bytes) + rateText(in.Rows, in.Elapsed) + leftText(in.Left)
}

func rateText(rows int64, d time.Duration) string {
	return Grouped(int64(float64(rows)/max(d.Seconds(), 1e-3))) + " rows/s"
}

func shareText(done, all int64) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d%%  ", 100*done/all)
}

func leftText(d time.Duration) string {
	if d < 0 {
		return ""
	}
	return "  " + d.Round(time.Second).String() + " left"
}

// reject prints a refused row.
func (p *progress) reject(r loader.Reject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rejects++; p.rejects > shownRejects {
		return
	}
	p.endLine()
	where := ""
	if r.Column != "" {
		where = " column " + strconv.Quote(r.Column)
	}
	if r.Value != "" {
		where += " value " + strconv.Quote(r.Value)
	}
	fmt.Fprintf(p.w, "%s:%d:%s %s: %s\n", r.File, r.Line, where, r.Code, r.Message)
	if p.rejects == shownRejects {
		fmt.Fprintln(p.w, "further refused rows are not shown")
	}
}

func (p *progress) endLine() {
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
}

// printReport prints the summary of a load.
func printReport(w io.Writer, r *loader.Report) {
	switch {
	case r.DryRun:
		fmt.Fprintf(w, "dry run: %s rows would write %s vertices and %s edges, about %s on disk; %s rejects, of them %s dangling edges\n",
			Grouped(r.Rows), Grouped(r.Vertices), Grouped(r.Edges), bytesText(r.DiskBytes), Grouped(r.Rejects), Grouped(r.Dangling))
		return
	case r.Resumed && r.Rows == 0 && r.Rejects > 0:
		fmt.Fprintf(w, "an earlier run loaded all rows but %s, which it refused\n", Grouped(r.Rejects))
	case r.Resumed && r.Rows == 0:
		fmt.Fprintln(w, "nothing to do: this load has finished before; --restart loads again")
	default:
		if r.Resumed {
			fmt.Fprintln(w, "resumed an interrupted run of this load")
		}
		fmt.Fprintf(w, "loaded %s rows: %s vertices and %s edges, %s rejects, in %.1f s (%s rows/s)\n",
			Grouped(r.Rows), Grouped(r.Vertices), Grouped(r.Edges), Grouped(r.Rejects), r.Seconds, Grouped(int64(float64(r.Rows)/max(r.Seconds, 1e-3))))
	}
	printCounts(w, "vertices", &r.VertexCounts, r.Resumed)
	printCounts(w, "edges", &r.EdgeCounts, r.Resumed)
}

// printCounts prints what rows did, if there were any.
func printCounts(w io.Writer, noun string, c *shard.RowCounts, whole bool) {
	if c.Applied() == 0 {
		return
	}
	if whole {
		noun += " of the whole load"
	}
	fmt.Fprintf(w, "%s: %s created, %s overwritten, %s unchanged", noun, Grouped(int64(c.Created)), Grouped(int64(c.Overwritten)), Grouped(int64(c.Unchanged)))
	if c.Deleted > 0 {
		fmt.Fprintf(w, ", %s deleted", Grouped(int64(c.Deleted)))
	}
	if c.Repeated > 0 {
		fmt.Fprintf(w, "; %s with a repeated key", Grouped(int64(c.Repeated)))
	}
	fmt.Fprintln(w)
}

// Grouped formats a number with commas.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func bytesText(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < 10<<30:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d GiB", n>>30)
}
