package cancel

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hopgate/hopgate/internal/loader/resource"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/endless"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// busy is how long a request runs before its cancellation, for one of several durations.
const busy = 60 * time.Millisecond

// BenchmarkEnd cancels requests that run in each operator, function or phase of statements. It reports the longest time until one ended, in
// milliseconds, and the most CPU time meanwhile, which does not depend on other load of the machine. The graph has 100,000 vertices of a
// label, and a vertex with as many edges.
func BenchmarkEnd(b *testing.B) {
	dir := b.TempDir()
	name, text := endless.File()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	store, err := local.Open(local.Options{Dir: b.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	e := query.New(store, query.Options{QueryBytes: 2 << 30, Open: resource.NewOpener(dir, resource.List{}).Open})
	for _, s := range endless.World(100_000) {
		if err := run(context.Background(), e, query.Request{Statement: s}, nil); err != nil {
			b.Fatal(err)
		}
	}
	longest, who := time.Duration(0), ""
	for _, r := range endless.Requests {
		b.Run(r.Name(), func(b *testing.B) {
			most, computed := time.Duration(0), time.Duration(0)
			for i := range b.N {
				took, cpu := end(b, e, &r, busy*time.Duration(i%4+1))
				most, computed = max(most, took), max(computed, cpu)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(most.Microseconds())/1000, "ms-to-end")
			b.ReportMetric(float64(computed.Microseconds())/1000, "cpu-ms-to-end")
			if computed > longest {
				longest, who = computed, r.Name()
			}
		})
	}
	b.Run("the most, "+who, func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(longest.Microseconds())/1000, "cpu-ms-to-end")
	})
}

// end runs a request for a while, cancels it and returns the time until it ended and the CPU time meanwhile.
func end(b *testing.B, e *query.Engine, r *endless.Request, after time.Duration) (took, cpu time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- run(ctx, e, query.Request{Statement: r.Statement}, r.Typed) }()
	select {
	case err := <-done:
		b.Fatalf("it ended by itself: %v", err)
	case <-time.After(after):
	}
	began, used := time.Now(), computed(b)
	cancel()
	if err := <-done; err == nil {
		b.Fatal("it ended by itself")
	}
	return time.Since(began), computed(b) - used
}

// computed returns the CPU time of the process.
func computed(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// run runs a request to its end.
func run(ctx context.Context, e *query.Engine, req query.Request, typed endless.Typed) error {
	var res *query.Result
	var err error
	if typed != nil {
		res, err = e.Traverse(ctx, query.TypedRequest{Typed: typed})
	} else {
		res, err = e.Query(ctx, req)
	}
	if err != nil {
		return err
	}
	defer res.Close()
	for {
		if batch, err := res.Next(); batch == nil || err != nil {
			return err
		}
	}
}
