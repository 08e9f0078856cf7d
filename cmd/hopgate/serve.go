package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/console"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/resource"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/boltapi"
	"github.com/hopgate/hopgate/internal/server/grpcapi"
	"github.com/hopgate/hopgate/internal/server/httpapi"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/past"
	"github.com/hopgate/hopgate/internal/shard/restricted"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// The rates of contention profiles are low enough to be always on: 1 in mutexRate events, and one event per blockNanos of waiting.
const (
	mutexRate  = 100
	blockNanos = 1_000_000
)

// slowLogEvery is the interval between writes of the slow log to disk.
const slowLogEvery = time.Minute

// collectorGrace is the time that shutdown grants the collector to receive the last traces and metrics.
const collectorGrace = 5 * time.Second

// spillShare is the default disk space of all sorts and aggregations together, as a multiple of the memory budget.
const spillShare = 8

// largeShare is the share of the memory budget for large requests, in received bytes: processing them takes several times as much.
const largeShare = 256

func newServe() *cobra.Command {
	untilStdinEnds := false
	cmd := &cobra.Command{
		Use: "serve", Short: "Run gateway and shards in one process, or in several that keep replicas", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, reload, err := configured(cmd)
			if err != nil {
				return err
			}
			c.Shards = max(c.Shards, 1)
			switch {
			case c.Join != "":
				err = checkMember(c)
			case c.Replicas != 0 || c.Peer != "" || c.ShardCA != "":
				err = errors.New("replicas, peer and shard-ca: need join, the addresses of all processes")
			}
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			ctx := cmd.Context()
			if untilStdinEnds {
				ctx = untilEnd(ctx, cmd.InOrStdin())
			}
			if c.Join != "" {
				return serve(ctx, c, reload, openMember)
			}
			return serve(ctx, c, reload, openLocal)
		},
	}
	config.Flags(cmd.Flags())
	cmd.Flags().BoolVar(&untilStdinEnds, "until-stdin-ends", false, "stop, as after SIGTERM, when standard input ends: for a program that starts the server, which may be killed")
	return cmd
}

// untilEnd returns a context that ends when in has been read to its end.
func untilEnd(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	return ctx
}

// store is what a server serves.
type store interface {
	shard.Store
	telemetry.Storage
	Close() error
}

// backing is the store of a server, with what depends on where its shards are. What it lacks is nil. The store is no embedded field: metrics
// are those of its type.
type backing struct {
	store  store
	dir    string                     // the data directory
	failed <-chan error               // brings the fault that ends the process
	ready  func() error               // says why requests have to wait
	waits  func() bool                // reports whether requests wait for a shard that has no other replica
	resize func(bytes int64)          // sets the memory of the topology cache
	leave  func(within time.Duration) // waits until the other processes do without this one
	warm   func(context.Context)      // fills caches for the first requests
}

// keptShards returns how many shards of a graph the process begins with.
func keptShards(c *config.Config) int {
	processes := len(addressList(c.Join))
	return max((c.Shards*max(c.Replicas, 1)+processes-1)/processes, 1)
}

// openLocal opens the graphs of a data directory.
func openLocal(ctx context.Context, c *config.Config, memory config.Budget, log *slog.Logger) (backing, error) {
	s, err := local.Open(storeOptions(ctx, c, memory, log))
	if err != nil {
		return backing{}, err
	}
	return backing{store: s, dir: c.DataDir, ready: s.Writable, resize: s.SetTopologyBytes, warm: s.Warm}, nil
}

// storeOptions returns the options of a store that no longer waits for room on a full disk once ctx ends.
func storeOptions(ctx context.Context, c *config.Config, memory config.Budget, log *slog.Logger) local.Options {
	logBytes, logAge, _ := c.LogBounds() // the configuration has been checked
	return local.Options{
		LogBytes: logBytes, LogAge: logAge,
		Dir: c.DataDir, Shards: c.Shards, ValueThreshold: int(c.ValueThreshold), CacheMode: memory.CacheMode, CacheBytes: memory.BlockCache,
		TopologyBytes: memory.Topology,
		TextBytes:     memory.Text,
		MemtableBytes: int(memory.Memtable), TxBytes: int(min(max(memory.Query, 1<<16), 512<<20)), Logger: log, Interrupt: ctx.Done(),
	}
}

// serving is a server as it is composed. Each step takes what those before it have made, and adds what closes its own.
type serving struct {
	c        *config.Config
	log      *slog.Logger
	level    *slog.LevelVar
	memory   config.Budget
	mostHeap int64 // GOMEMLIMIT
	tuning   *admin.Tuning
	guards   guards
	backing  backing
	engine   *query.Engine
	past     *past.Store
	profiles *telemetry.Profiles
	dir      string // for evidence; "" without a data directory
	reloader *reloader
	hangups  chan os.Signal
	closers  []func() error
}

// onClose adds a function that close calls before those that were added earlier.
func (s *serving) onClose(f func() error) { s.closers = append(s.closers, f) }

func (s *serving) close() (err error) {
	for _, f := range slices.Backward(s.closers) {
		err = errors.Join(err, f())
	}
	return err
}

// newServing begins the log and the memory limit of a process.
func newServing(c *config.Config, reload *reloader) *serving {
	s := &serving{c: c, level: new(slog.LevelVar), memory: c.Split(keptShards(c)), tuning: new(admin.Tuning)}
	s.log = logger(c, s.level)
	slog.SetDefault(s.log)
	s.hangups = catchHangups()
	reload.log, s.reloader = s.log, reload
	s.reloader.on(func(c *config.Config) { setLevel(s.level, c) }, "log-level")
	s.reloader.on(func(now *config.Config) { c.DrainTimeout, c.StopWait = now.DrainTimeout, now.StopWait }, "drain-timeout", "stop-wait")
	// GOMEMLIMIT may only lower the limit: it does not account for memory off the Go heap.
	s.mostHeap = debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(s.memory.GoHeap, s.mostHeap))
	s.tuning.Level = s.level
	s.tuning.Set(mutexRate, blockNanos)
	return s
}

// serve runs the server until a signal arrives or it fails.
func serve(ctx context.Context, c *config.Config, reload *reloader, open func(context.Context, *config.Config, config.Budget, *slog.Logger) (backing, error)) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s := newServing(c, reload)
	defer func() { err = errors.Join(err, s.close()) }()
	rules, err := fetchRules(c)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	if s.backing, err = open(ctx, c, s.memory, s.log); err != nil {
		if ctx.Err() != nil {
			s.log.Info("stopped before it was ready", slog.Any("error", err)) // it waited to be added to a cluster, or for room on the disk
			return nil
		}
		return err
	}
	s.onClose(s.backing.store.Close)
	if err := removeStale(c.ReadyFile); err != nil {
		return err
	}
	if s.guards, err = newGuards(c, s.memory, s.log); err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	audit, auditFile, err := access.OpenAudit(c.AuditLog)
	if err != nil {
		return err
	}
	s.onClose(auditFile.Close)
	rates, err := s.openEngine(ctx, rules, audit)
	if err != nil {
		return err
	}
	s.govern(ctx)
	s.reloadsLimits(rates)
	s.openQueryLog()
	load := loader.New(restricted.NewStore(s.backing.store))
	registry := telemetry.NewRegistry(s.engine, load, s.backing.store)
	telemetry.RegisterCertificate(registry, s.guards.tls)
	if c.OTLPEndpoint != "" {
		collector, err := telemetry.NewCollector(ctx, s.engine, registry, c.OTLPEndpoint, s.log)
		if err != nil {
			return err
		}
		s.onClose(func() error { s.flush(ctx, collector); return nil })
	}
	var pages *console.Console
	if c.Console {
		if pages, err = console.New(); err != nil {
			return err
		}
	}
	srv := server.New(s.engine, load, s.backing.store, registry, server.Options{
		Transports: s.transports(pages), MaxRequestBytes: int64(c.MaxRequest), LargeBytes: s.memory.Total / largeShare,
		QueueTimeout: c.QueueTimeout, TxIdle: c.TxIdleTimeout, Logger: s.log, Profiles: s.profiles, Tuning: s.tuning, Auth: s.guards.auth,
		Web: s.guards.web, Rates: rates, Audit: audit, TLS: s.guards.tls, AdminTLS: s.guards.adminTLS, Ready: s.backing.ready,
		Waits: s.backing.waits, Warnings: warnings(c, s.log),
	})
	addrs, err := srv.Listen(ctx, c.Listeners())
	if err != nil {
		return err
	}
	if err = ready(ctx, s.log, c, s.engine, addrs); err == nil {
		s.warm(ctx)
		stopReloads := s.reloader.handle(s.hangups)
		select {
		case err = <-srv.Failed():
		case err = <-s.backing.failed:
		case <-ctx.Done():
			stopReloads()
			s.log.Info("draining", slog.Duration("timeout", c.DrainTimeout))
		}
		stopReloads()
	}
	stop() // a second signal ends the process at once
	if s.backing.leave != nil && err == nil {
		s.backing.leave(c.StopWait)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.DrainTimeout)
	defer cancel()
	srv.Drain(drain)
	s.log.Info("stopped")
	return err
}

// transports are all that the server speaks, with the settings that only one of them has.
func (s *serving) transports(pages *console.Console) []request.Transport {
	c := s.c
	return []request.Transport{
		httpapi.Transport(httpapi.Options{TestProcedures: c.TestProcedures, Console: pages}),
		grpcapi.Transport(grpcapi.Options{Config: c.YAML(), EvidenceDir: s.dir}),
		boltapi.Transport(boltapi.Options{
			Agent: c.BoltAgent, Advertise: c.BoltAdvertise, Gateways: c.BoltGateways, MaxConnections: c.BoltMaxConns, TxIdle: c.BoltTxIdle,
			PlainToo: c.BoltTLS == "optional", IfFree: c.BoltIfFree, Web: s.guards.boltWeb,
		}),
	}
}

// openEngine makes the engine, its place on disk, and the limits of callers. With a data directory, the slow log and profiles last.
func (s *serving) openEngine(ctx context.Context, rules *syntax.Rules, audit *access.Audit) (*access.Rates, error) {
	c, spillDir, spillLimit := s.c, "", int64(s.c.SpillLimit)
	if spillLimit == 0 {
		spillLimit = spillShare * s.memory.Total
	}
	if dir := s.backing.dir; dir != "" {
		s.dir, spillDir = filepath.Join(dir, "evidence"), filepath.Join(dir, "spill")
	}
	spill, err := exec.NewSpill(spillDir, spillLimit)
	switch {
	case err == nil:
		s.onClose(spill.Close)
	case spillDir == "": // a gateway may have no disk
		s.log.Warn("sorts and aggregations stay in memory, since there is no place for temporary files", slog.Any("error", err))
	default:
		return nil, err
	}
	bounds, perUser, perGraph := s.bounds(c)
	sources, _ := resource.ParseList(c.LoadCSVSources)
	rates := access.NewRates(perUser, perGraph)
	s.past = past.NewStore(s.backing.store, int(c.PastMemory))
	s.engine = query.New(restricted.NewStore(s.past), query.Options{
		Past:       s.past,
		FetchRules: rules, FetchCaller: fetchCaller(rules),
		Timeout: bounds.Timeout, MaxTimeout: bounds.MaxTimeout, QueryBytes: s.memory.Query, PoolBytes: s.memory.Queries, Spill: spill,
		MaxRows: bounds.MaxRows, MaxVisits: bounds.MaxVisits, Open: resource.NewOpener(c.ImportDir, sources).Open,
		Admission: bounds.Admission, Rates: rates,
		PlanCacheSize: c.PlanCache, ResponseCache: int64(c.ResponseCache), SlowLogSize: c.SlowLog, Fetch: c.Fetch, Typed: request.DecodeTyped, Audit: audit, Neo4jVersion: c.BoltAgent, Authenticates: s.guards.auth != nil,
	})
	s.onClose(func() error { s.engine.Quotas.Close(); return nil })
	if s.dir == "" {
		return rates, nil
	}
	kept := filepath.Join(c.DataDir, "slowlog")
	if err := s.engine.SlowLog().Load(kept); err != nil {
		s.log.Warn("the slow log starts empty", slog.Any("error", err))
	}
	stopLog := keepSlowLog(ctx, s.engine, kept, s.log)
	s.onClose(func() error { stopLog(); return nil })
	p, stopProfiles, err := keepProfiles(ctx, c, s.engine.LabelProfiles, s.log)
	if err != nil {
		return nil, err
	}
	s.profiles = p
	s.onClose(func() error { stopProfiles(); return nil })
	return rates, nil
}

// govern keeps the memory of the process within its limit, where that can be measured.
func (s *serving) govern(ctx context.Context) {
	if residentMemory() == 0 {
		return
	}
	g := &governor{
		limit: s.memory.Total, cache: max(s.memory.Topology, 0), garbage: s.memory.Total / garbagePart, used: residentMemory,
		heap: s.memory.GoHeap, most: s.mostHeap, onHeap: goMemory, setHeap: func(n int64) { debug.SetMemoryLimit(n) },
		live: liveHeap, setGarbage: request.SetGarbage, resize: s.backing.resize, relieve: s.engine.Relieve,
		forget: func(bytes int64) int64 { return int64(s.past.Forget(int(bytes))) },
		keep:   func(time.Time) error { return nil }, log: s.log, allocated: allocatedHeap, giveBack: s.giveBack,
	}
	if s.dir != "" {
		g.keep = (&evidence{dir: s.dir, running: s.engine.Running}).keep
	}
	if g.resize == nil { // the caches are in the shards
		g.resize, g.cache, g.garbage = func(int64) {}, 0, s.memory.Total/gatewayGarbagePart
	}
	governed := make(chan struct{})
	governing, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(governed)
		g.run(governing)
	}()
	s.onClose(func() error { end(); <-governed; return nil }) // before the store closes
}

// warm fills caches beside the first requests.
func (s *serving) warm(ctx context.Context) {
	if s.backing.warm == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.backing.warm(ctx)
	}()
	s.onClose(func() error { stop(); <-done; return nil }) // before the store closes
}

// flush sends the last traces and metrics to the collector.
func (s *serving) flush(ctx context.Context, collector *telemetry.Collector) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectorGrace)
	defer cancel()
	if err := collector.Close(ctx); err != nil {
		s.log.Warn("the last traces and metrics are lost", slog.Any("error", err))
	}
}

// keepProfiles takes profiles continuously until the caller calls stop, and keeps the latest in the data directory. p is nil if profiles
// are off.
func keepProfiles(ctx context.Context, c *config.Config, label func() func(), log *slog.Logger) (p *telemetry.Profiles, stop func(), err error) {
	if c.ProfileHistory == 0 {
		return nil, func() {}, nil
	}
	if p, err = telemetry.NewProfiles(filepath.Join(c.DataDir, "profiles"), int64(c.ProfileHistory), label, log); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	return p, func() { cancel(); <-done }, nil
}

// keepSlowLog writes the slow log to a file every slowLogEvery, and when the caller calls stop.
func keepSlowLog(ctx context.Context, engine *query.Engine, path string, log *slog.Logger) (stop func()) {
	save := func() {
		if err := engine.SlowLog().Save(path); err != nil {
			log.Warn("the slow log is not written", slog.Any("error", err))
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(slowLogEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				save()
			case <-ctx.Done():
				save()
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// ready reports readiness after the server has answered a query of its own.
func ready(ctx context.Context, log *slog.Logger, c *config.Config, engine *query.Engine, addrs server.Addresses) error {
	err := engine.Probe(ctx)
	pause := backoff.ExponentialBackOff{InitialInterval: 100 * time.Millisecond, RandomizationFactor: 0.2, Multiplier: 2, MaxInterval: time.Second}
	// A process that waits for others is live but not ready.
	for ; err != nil && c.Join != "" && ctx.Err() == nil; err = engine.Probe(ctx) {
		log.Warn("waiting for the shards", slog.Any("error", err))
		select {
		case <-ctx.Done():
		case <-time.After(pause.NextBackOff()):
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the process is shutting down
		}
		return fmt.Errorf("the first query failed: %w", err)
	}
	var all []any
	asked := c.TokensFile != "" || c.OIDCIssuer != ""
	for _, name := range slices.Sorted(maps.Keys(addrs)) {
		secure := c.TLSCert != "" && (name != server.Admin || c.AdminTLS)
		log.Info("listening", slog.String("listener", name), slog.String("address", addrs[name]), slog.String("open_to", reach(addrs[name])),
			slog.Bool("tls", secure), slog.Bool("client_certificates", secure && c.TLSClientCA != ""), slog.Bool("tokens", asked))
		all = append(all, slog.String(name, addrs[name]))
	}
	if c.ReadyFile != "" {
		if err := server.WriteReadyFile(c.ReadyFile, addrs); err != nil {
			return err
		}
	}
	log.Info("ready", all...)
	return nil
}

// reach describes who can connect to a listener.
func reach(address string) string {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	switch {
	case err == nil && ip != nil && ip.IsLoopback():
		return "this machine"
	case err == nil && ip != nil && !ip.IsUnspecified():
		return "hosts that reach " + host
	}
	return "all networks"
}

// removeStale removes the ready file of an earlier run, whose addresses are stale.
func removeStale(path string) error {
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}

// logger creates the log of a process at the configured level, which can change later.
func setLevel(level *slog.LevelVar, c *config.Config) {
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		panic(fmt.Sprintf("log level %q passed the checks", c.LogLevel))
	}
}

func logger(c *config.Config, level *slog.LevelVar) *slog.Logger {
	setLevel(level, c)
	opts := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(requestHandler{slog.NewJSONHandler(os.Stderr, opts)})
	}
	return slog.New(requestHandler{slog.NewTextHandler(os.Stderr, opts)})
}

// requestHandler adds the request id to log records of a request.
type requestHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := access.Request(ctx); id != "" {
		r.AddAttrs(slog.String("request", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h requestHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}
