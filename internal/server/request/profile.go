package request

import (
	"bytes"
	"context"
	"io"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"

	"github.com/hopgate/hopgate/internal/graph"
)

// WatchCPU profiles the CPU for a while, or until the client disconnects, and writes the profile. Only one can run at a time.
func WatchCPU(ctx context.Context, watch time.Duration, w io.Writer) error {
	if err := pprof.StartCPUProfile(w); err != nil {
		return graph.Unavailable("RequestError", "ProfileRuns", "another CPU profile is being taken", err)
	}
	defer pprof.StopCPUProfile()
	timer := time.NewTimer(watch)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return graph.DeadlineError(context.Cause(ctx))
	}
}

// CPUProfile takes a CPU profile and parses it.
func CPUProfile(ctx context.Context, watch time.Duration) (*profile.Profile, error) {
	var b bytes.Buffer
	if err := WatchCPU(ctx, watch, &b); err != nil {
		return nil, err
	}
	p, err := profile.Parse(&b)
	if err != nil {
		return nil, graph.InternalError("profile", err)
	}
	return p, nil
}
