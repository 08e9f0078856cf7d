package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/query"
)

// The governor looks at the memory of the process every governorTick. From shrinkAt on, in hundredths of --memory, the
// cache of decoded lists and columns gets smaller step by step; from cancelAt on, when it cannot get smaller, the largest
// query is ended. Below growAt the cache grows again. The Go heap may have what the rest leaves of heapAt: were it held to
// its share although others do not use theirs, it would be collected all the time. Below that, garbage may grow to a
// garbagePart of all memory before it is collected, and in a gateway, which has no caches, to a gatewayGarbagePart.
const (
	governorTick = 200 * time.Millisecond
	growAt       = 75
	heapAt       = 80
	shrinkAt     = 90
	cancelAt     = 95
	garbagePart  = 64

	gatewayGarbagePart = 16
)

// governor keeps the memory of the process within limit.
type governor struct {
	limit, cache int64 // bytes: of the process, and of the cache when there is room
	garbage      int64 // bytes: of garbage before it is collected
	heap, most   int64 // bytes: of the Go heap when the others use all of their shares, and whatever they use
	used         func() int64
	onHeap       func() int64 // of used, what the Go runtime has
	setHeap      func(bytes int64)
	live         func() int64 // bytes on the heap that were in use when garbage was collected last
	setGarbage   func(bytes, live int64)
	resize       func(cacheBytes int64)
	relieve      func(used, limit, least int64) (query.Largest, bool)
	keep         func(now time.Time) error // keeps evidence
	log          *slog.Logger

	now     int64 // size of the cache
	nowHeap int64 // the Go heap's limit
}

// run governs until ctx ends.
func (g *governor) run(ctx context.Context) {
	g.now = g.cache
	t := time.NewTicker(governorTick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			g.tick()
		}
	}
}

// tick takes one step.
func (g *governor) tick() {
	used := g.used()
	g.limitHeap(used)
	g.setGarbage(g.garbage, g.live())
	switch part := used * 100 / g.limit; {
	case part >= shrinkAt && g.now > g.cache/16:
		g.now /= 2
		g.resize(g.now)
		g.log.Warn("memory is short, the cache shrinks", slog.Int64("used", used), slog.Int64("limit", g.limit), slog.Int64("cache", g.now))
	case part >= cancelAt:
		if err := g.keep(time.Now()); err != nil {
			g.log.Error("no evidence of why memory is short", slog.Any("error", err))
		}
		// As many as hold what is too much; who holds little is not to blame.
		for over := used - g.limit*shrinkAt/100; over > 0; {
			l, ok := g.relieve(used, g.limit, g.limit/256)
			if !ok {
				break
			}
			over -= l.Bytes
			g.log.Warn("memory is short, the largest query is ended", slog.Int64("used", used), slog.Int64("limit", g.limit),
				slog.String("graph", l.Graph), slog.String("caller", l.Caller), slog.String("statement", l.Statement),
				slog.String("operator", l.Operator), slog.Int64("bytes", l.Bytes))
		}
	case part < growAt && g.now < g.cache:
		g.now = min(g.cache, max(2*g.now, 1<<20))
		g.resize(g.now)
	}
}

// limitHeap sets the limit of the Go heap anew if it has changed by more than a hundredth of all memory: it costs a stop
// of all goroutines.
func (g *governor) limitHeap(used int64) {
	heap := min(max(g.limit*heapAt/100-max(used-g.onHeap(), 0), g.heap), g.most)
	if diff := heap - g.nowHeap; max(diff, -diff) > g.limit/100 {
		g.nowHeap = heap
		g.setHeap(heap)
	}
}

// goMemory is the memory that the Go runtime has from the system, in bytes.
func goMemory() int64 {
	return runtimeMetric("/memory/classes/total:bytes") - runtimeMetric("/memory/classes/heap/released:bytes")
}

// liveHeap is what was in use on the Go heap when garbage was collected last, in bytes.
func liveHeap() int64 { return runtimeMetric("/gc/heap/live:bytes") }

func runtimeMetric(name string) int64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// residentMemory is the memory of the process that is in RAM, in bytes; 0 where the system does not tell.
func residentMemory() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
