package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
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

	// The governor looks every restTicks whether the process rests: it has allocated less than restBytes since it looked last. What earlier work
	// has taken then goes back to the system, if it was dirtyBytes or more since the process rested before. After the start, the governor looks
	// every startRestTicks until the process rests, however little it has allocated.
	restTicks      = int(time.Minute / governorTick)
	startRestTicks = int(2 * time.Second / governorTick)
	restBytes      = 8 << 20
	dirtyBytes     = 32 << 20
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
	allocated    func() int64              // bytes on the heap since the start
	giveBack     func(first bool)          // returns free memory to the system
	log          *slog.Logger

	now     int64 // current size of the cache
	nowHeap int64 // current limit of the Go heap

	patience, ticks int   // ticks between looks for rest, and since the last
	looked, rested  int64 // allocated at the last look, and when memory was given back last
}

// run governs until ctx ends.
func (g *governor) run(ctx context.Context) {
	g.now, g.patience = g.cache, startRestTicks
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
	g.rest()
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

// rest gives memory back when the process rests, the first time with what only the start has used.
func (g *governor) rest() {
	if g.ticks++; g.ticks < g.patience {
		return
	}
	now := g.allocated()
	resting, first := now-g.looked < restBytes, g.patience == startRestTicks
	g.ticks, g.looked = 0, now
	if resting && (first || now-g.rested >= dirtyBytes) {
		g.giveBack(first)
		g.rested, g.patience = now, restTicks
	}
}

// giveBack collects the garbage and returns all free memory of the Go heap to the system, the first time with pages of the program file.
func (s *serving) giveBack(first bool) {
	debug.FreeOSMemory()
	if first {
		if err := forgetProgram(); err != nil {
			s.log.Warn("pages of the program that only the start has used stay in memory", slog.Any("error", err))
		}
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

// allocatedHeap returns the bytes that have been allocated on the Go heap.
func allocatedHeap() int64 { return runtimeMetric("/gc/heap/allocs:bytes") }

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
