package main

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/query"
)

// The governor looks at the memory of the process every governorTick. From shrinkAt on, in hundredths of --memory, the
// cache of decoded lists and columns gets smaller step by step; from cancelAt on, when it cannot get smaller, the largest
// query is ended. Below growAt the cache grows again.
const (
	governorTick = 200 * time.Millisecond
	growAt       = 75
	shrinkAt     = 90
	cancelAt     = 95
)

// governor keeps the memory of the process within limit.
type governor struct {
	limit, cache int64 // bytes: of the process, and of the cache when there is room
	used         func() int64
	resize       func(cacheBytes int64)
	relieve      func(used, limit, least int64) (query.Largest, bool)
	keep         func(now time.Time) error // keeps evidence
	log          *slog.Logger

	now int64 // size of the cache
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
