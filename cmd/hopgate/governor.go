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

// The governor checks the memory of the process every governorTick. From shrinkAt on (percent of --memory), it shrinks the topology cache
// step by step; from cancelAt on, if the cache cannot shrink, it ends the largest query. Below growAt the cache grows again. The Go heap
// may use what the other consumers leave of heapAt: limiting it to its share while others do not use theirs would collect garbage all the
// time. Within that limit, garbage may grow to a garbagePart of all memory before a collection, or to a gatewayGarbagePart in a gateway,
// which has no caches.
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
	limit, cache int64 // bytes: of the process, and of the cache when memory is not short
	garbage      int64 // bytes of garbage before a collection
	heap, most   int64 // bytes of the Go heap: when all others use their full shares, and at most
	used         func() int64
	onHeap       func() int64 // the part of used that the Go runtime holds
	setHeap      func(bytes int64)
	live         func() int64 // bytes in use on the heap after the last collection
	setGarbage   func(bytes, live int64)
	resize       func(cacheBytes int64)
	relieve      func(used, limit, least int64) (query.Largest, bool)
	forget       func(bytes int64) int64   // what is kept of the past; it returns how much it has given up
	keep         func(now time.Time) error // records evidence
	log          *slog.Logger

	now     int64 // current size of the cache
	nowHeap int64 // current limit of the Go heap
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

// tick runs one step.
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
		// Forget the past, then end as many queries as cover the excess, largest first.
		over := used - g.limit*shrinkAt/100
		for over -= g.forget(over); over > 0; {
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

// limitHeap updates the limit of the Go heap if it has changed by more than 1 % of all memory, because an update stops all goroutines.
func (g *governor) limitHeap(used int64) {
	heap := min(max(g.limit*heapAt/100-max(used-g.onHeap(), 0), g.heap), g.most)
	if diff := heap - g.nowHeap; max(diff, -diff) > g.limit/100 {
		g.nowHeap = heap
		g.setHeap(heap)
	}
}

// goMemory returns the bytes that the Go runtime holds from the system.
func goMemory() int64 {
	return runtimeMetric("/memory/classes/total:bytes") - runtimeMetric("/memory/classes/heap/released:bytes")
}

// liveHeap returns the bytes in use on the Go heap after the last collection.
func liveHeap() int64 { return runtimeMetric("/gc/heap/live:bytes") }

func runtimeMetric(name string) int64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// residentMemory returns the resident memory of the process in bytes, or 0 if the system does not report it.
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
