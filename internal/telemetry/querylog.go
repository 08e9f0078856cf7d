package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/size"
)

// maxLogged is the number of bytes of a statement, and of its parameters, that a line of the query log has.
const maxLogged = 16 << 10

// QueryLogOptions say what the query log holds.
type QueryLogOptions struct {
	Sample     float64       // share of the requests, from 0 to 1
	Slow       time.Duration // requests that take at least as long are logged in any case; 0: none
	Parameters bool          // with the parameters of statements
	Size       size.Bytes    // of a file, from which the next one begins
	Files      int           // number of earlier files that are kept
}

// ParseQueryLog parses options as NAME=VALUE with commas between them: sample=10%, slow=500ms, parameters=true, size=100MiB, files=5. These are all
// that there are; each has the default of an empty text: all requests, no parameters, 100 MiB, 5 files.
func ParseQueryLog(text string) (QueryLogOptions, error) {
	o := QueryLogOptions{Sample: 1, Size: 100 << 20, Files: 5}
	if strings.TrimSpace(text) == "" {
		return o, nil
	}
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		var err error
		switch name {
		case "sample":
			number, percent := strings.CutSuffix(value, "%")
			o.Sample, err = strconv.ParseFloat(number, 64)
			if percent {
				o.Sample /= 100
			}
			if err != nil || !(o.Sample >= 0 && o.Sample <= 1) {
				err = fmt.Errorf("%q is not a share from 0 to 1, or from 0%% to 100%%", value)
			}
		case "slow":
			o.Slow, err = time.ParseDuration(value)
			if err != nil || o.Slow < 0 {
				err = fmt.Errorf("%q is not a duration; write 500ms", value)
			}
		case "parameters":
			if o.Parameters, err = strconv.ParseBool(value); err != nil {
				err = fmt.Errorf("%q is not true or false", value)
			}
		case "size":
			if o.Size, err = size.Parse(value); err == nil && o.Size < 1<<20 || err == nil && o.Size%(1<<20) != 0 {
				err = errors.New("must be a whole number of MiB, from 1MiB")
			}
		case "files":
			if o.Files, err = strconv.Atoi(value); err != nil || o.Files < 1 {
				err = fmt.Errorf("%q is not a number from 1", value)
			}
		default:
			err = errors.New("there is no such option; there are sample, slow, parameters, size and files")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return o, errors.Join(errs...)
}

// QueryLog writes a line of JSON for requests that end.
type QueryLog struct {
	log  *slog.Logger
	opt  atomic.Pointer[QueryLogOptions]
	w    *watch.Watch
	stop func()
}

// NewQueryLog writes the requests of w to out, one call of Write for each line.
func NewQueryLog(w *watch.Watch, out io.Writer, o QueryLogOptions) *QueryLog {
	l := &QueryLog{w: w, log: access.JSONLines(out)}
	l.Set(o)
	return l
}

// Set changes the options, but for those of files. It must not run concurrently with itself.
func (l *QueryLog) Set(o QueryLogOptions) {
	l.opt.Store(&o)
	old := l.stop
	l.stop = l.w.Add(&watch.Watcher{Parameters: o.Parameters, Ended: l.ended})
	if old != nil {
		old() // now, so that no request is missed; one that ends just now may be logged twice
	}
}

// Close stops the log.
func (l *QueryLog) Close() error {
	l.stop()
	return nil
}

func (l *QueryLog) ended(r *watch.Ended) {
	o := l.opt.Load()
	if slow := o.Slow > 0 && r.Elapsed >= o.Slow; r.Kind == watch.RouteKind || !slow && !r.Failed && o.Sample < 1 && rand.Float64() >= o.Sample {
		return
	}
	outcome := "ok"
	if r.Err != nil {
		outcome = graph.AsError(r.Err).Code
	}
	caller := access.Of(r.Context)
	attrs := []slog.Attr{
		slog.String("request", access.Request(r.Context)), slog.Uint64("id", r.ID), slog.String("caller", caller.Name), slog.String("graph", r.Graph), slog.String("kind", string(r.Kind)),
		slog.Float64("elapsedMs", float64(r.Elapsed.Microseconds())/1000), slog.Float64("cpuMs", float64(r.Took.CPU.Microseconds())/1000),
		slog.Float64("queueMs", float64(r.Took.Queue.Microseconds())/1000), slog.Int64("rows", r.Rows), slog.Int64("visits", r.Took.Visits), slog.Int64("bytes", r.Took.Bytes),
		slog.String("outcome", outcome), slog.String("statement", cutText(r.Statement)),
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Err.Error()))
	}
	if p := watch.Parameters(r.Context); o.Parameters && len(p) > 0 {
		attrs = append(attrs, slog.String("parameters", parametersText(p)))
	}
	l.log.LogAttrs(context.WithoutCancel(r.Context), slog.LevelInfo, "", attrs...)
}

// parametersText returns parameters as a JSON object.
func parametersText(p map[string]graph.Value) string {
	entries := make([]graph.MapEntry, 0, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		entries = append(entries, graph.MapEntry{Key: name, Value: p[name]})
	}
	return cutText(string(notation.PlainJSON.Append(nil, graph.MapValue(entries))))
}

// cutText returns the first maxLogged bytes of a text.
func cutText(s string) string {
	if len(s) <= maxLogged {
		return s
	}
	return strings.ToValidUTF8(s[:maxLogged], "") + "…"
}
