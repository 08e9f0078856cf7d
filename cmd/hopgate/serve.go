package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/console"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/boltapi"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote"
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
	cmd := &cobra.Command{
		Use: "serve", Short: "Run gateway and shards in one process, or in several that keep replicas", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags(), os.Environ())
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			if c.ShardAddresses != "" {
				return cli.Error{Code: cli.Usage, Err: errors.New("shard-addresses: is for hopgate gateway and hopgate shard")}
			}
			if c.Replication != 0 {
				return cli.Error{Code: cli.Usage, Err: errors.New("replication: is for hopgate gateway and hopgate shard; hopgate serve has replicas and join")}
			}
			c.Shards = max(c.Shards, 1)
			if err := checkMember(&c); err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			if c.Join != "" {
				return serve(cmd.Context(), &c, openMember)
			}
			return serve(cmd.Context(), &c, openLocal)
		},
	}
	config.Flags(cmd.Flags())
	return cmd
}

// backing is the store that a server serves.
type backing interface {
	shard.Store
	telemetry.Storage
	Close() error
}

// keptShards returns how many shards of a graph the process begins with.
func keptShards(c *config.Config) int {
	processes, replicas := addressList(c.ShardAddresses), c.Replication
	if c.Join != "" {
		processes, replicas = addressList(c.Join), c.Replicas
	}
	return max((c.Shards*max(replicas, 1)+len(processes)-1)/len(processes), 1)
}

// openLocal opens the graphs of a data directory.
func openLocal(ctx context.Context, c *config.Config, memory config.Budget, log *slog.Logger) (backing, error) {
	return local.Open(storeOptions(ctx, c, memory, log))
}

// storeOptions returns the options of a store that no longer waits for room on a full disk once ctx ends.
func storeOptions(ctx context.Context, c *config.Config, memory config.Budget, log *slog.Logger) local.Options {
	return local.Options{
		Dir: c.DataDir, Shards: c.Shards, ValueThreshold: int(c.ValueThreshold), CacheMode: memory.CacheMode, CacheBytes: memory.BlockCache,
		TopologyBytes: memory.Topology,
		TextBytes:     memory.Text,
		MemtableBytes: int(memory.Memtable), TxBytes: int(min(max(memory.Query, 1<<16), 512<<20)), Logger: log, Interrupt: ctx.Done(),
	}
}

// serve runs the server until a signal arrives or it fails.
func serve(ctx context.Context, c *config.Config, open func(context.Context, *config.Config, config.Budget, *slog.Logger) (backing, error)) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	level := new(slog.LevelVar)
	log := logger(c, level)
	slog.SetDefault(log)
	defer ignoreHangups(log)()
	memory := c.Split(keptShards(c))
	// GOMEMLIMIT may only lower the limit: it does not account for memory off the Go heap.
	mostHeap := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(memory.GoHeap, mostHeap))
	tuning := &admin.Tuning{Level: level}
	tuning.Set(mutexRate, blockNanos)
	rules, err := fetchRules(c)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	store, err := open(ctx, c, memory, log)
	if err != nil {
		if ctx.Err() != nil {
			log.Info("stopped before it was ready", slog.Any("error", err)) // it waited to be added to a cluster, or for room on the disk
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := removeStale(c.ReadyFile); err != nil {
		return err
	}
	auth, err := authenticator(c, memory, log)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	secure, err := access.TLS(access.TLSFiles{Cert: c.TLSCert, Key: c.TLSKey, ClientCA: c.TLSClientCA}, log)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	web, err := access.NewWeb(c.HTTPOrigins, c.HTTPHosts)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	boltWeb, err := access.NewOrigins("bolt-origins", c.BoltOrigins, c.HTTPHosts)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	var adminTLS *tls.Config
	if c.AdminTLS {
		adminTLS = secure
	}
	audit, auditFile, err := access.OpenAudit(c.AuditLog)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, auditFile.Close()) }()
	var spill *exec.Spill
	evidenceDir := ""
	var profiles *telemetry.Profiles
	spillDir, spillLimit := "", int64(c.SpillLimit)
	if spillLimit == 0 {
		spillLimit = spillShare * memory.Total
	}
	if c.ShardAddresses == "" {
		evidenceDir, spillDir = filepath.Join(c.DataDir, "evidence"), filepath.Join(c.DataDir, "spill")
	}
	switch spill, err = exec.NewSpill(spillDir, spillLimit); {
	case err == nil:
		defer func() { err = errors.Join(err, spill.Close()) }()
	case spillDir == "": // a gateway may have no disk
		log.Warn("sorts and aggregations stay in memory, since there is no place for temporary files", slog.Any("error", err))
	default:
		return err
	}
	perUser, _ := access.ParseLimits(c.UserLimits, c.Whole(memory)) // Validate has parsed them
	perGraph, _ := access.ParseLimits(c.GraphLimits, c.Whole(memory))
	rates := access.NewRates(perUser, perGraph)
	engine := query.New(store, query.Options{
		FetchRules: rules, FetchCaller: fetchCaller(rules),
		Timeout: c.QueryTimeout, MaxTimeout: c.MaxTimeout, QueryBytes: memory.Query, PoolBytes: memory.Queries, Spill: spill, MaxRows: c.MaxRows, MaxVisits: c.MaxVisits, ImportDir: c.ImportDir,
		Admission: query.Admission{Running: c.MaxQueries, Queue: c.MaxQueue, Wait: c.QueueTimeout, Caller: perUser, Graph: perGraph}, Rates: rates,
		PlanCacheSize: c.PlanCache, SlowLogSize: c.SlowLog, Fetch: c.Fetch, Audit: audit, Neo4jVersion: c.BoltAgent, Authenticates: auth != nil,
	})
	if evidenceDir != "" {
		kept := filepath.Join(c.DataDir, "slowlog")
		if err := engine.LoadSlowLog(kept); err != nil {
			log.Warn("the slow log starts empty", slog.Any("error", err))
		}
		defer keepSlowLog(ctx, engine, kept, log)()
		var stopProfiles func()
		if profiles, stopProfiles, err = keepProfiles(ctx, c, engine.LabelProfiles, log); err != nil {
			return err
		}
		defer stopProfiles()
	}
	if residentMemory() > 0 {
		g := &governor{
			limit: memory.Total, cache: max(memory.Topology, 0), garbage: memory.Total / garbagePart, used: residentMemory,
			heap: memory.GoHeap, most: mostHeap, onHeap: goMemory, setHeap: func(n int64) { debug.SetMemoryLimit(n) },
			live: liveHeap, setGarbage: request.SetGarbage, resize: func(int64) {}, relieve: engine.Relieve,
			keep: func(time.Time) error { return nil }, log: log,
		}
		if evidenceDir != "" {
			g.keep = (&evidence{dir: evidenceDir, running: engine.Running}).keep
		}
		if s, ok := store.(interface{ SetTopologyBytes(n int64) }); ok {
			g.resize = s.SetTopologyBytes
		} else {
			g.cache, g.garbage = 0, memory.Total/gatewayGarbagePart // the caches are in the shards
		}
		governed := make(chan struct{})
		governing, end := context.WithCancel(context.WithoutCancel(ctx))
		go func() {
			defer close(governed)
			g.run(governing)
		}()
		defer func() { end(); <-governed }() // before the store closes
	}
	load := loader.New(store)
	registry := telemetry.NewRegistry(engine, load, store)
	if c.OTLPEndpoint != "" {
		collector, err := telemetry.NewCollector(ctx, engine, registry, c.OTLPEndpoint, log)
		if err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectorGrace)
			defer cancel()
			if err := collector.Close(ctx); err != nil {
				log.Warn("the last traces and metrics are lost", slog.Any("error", err))
			}
		}()
	}
	var pages *console.Console
	if c.Console {
		if pages, err = console.New(); err != nil {
			return err
		}
	}
	var failed <-chan error
	var caughtUp func() error
	var waits func() bool
	switch s := store.(type) {
	case *member:
		failed, caughtUp = s.failed, s.p.Ready
	case *local.Store:
		caughtUp = s.Writable
	case *remote.Store:
		waits = s.Single
	}
	srv := server.New(engine, load, store, registry, server.Options{
		MaxRequestBytes: int64(c.MaxRequest), LargeBytes: memory.Total / largeShare, QueueTimeout: c.QueueTimeout, TxIdle: c.TxIdleTimeout, TestProcedures: c.TestProcedures, Logger: log, Config: c.YAML(), EvidenceDir: evidenceDir,
		Profiles: profiles, Tuning: tuning, Auth: auth, Web: web, Rates: rates, Audit: audit, Console: pages, TLS: secure, AdminTLS: adminTLS,
		Ready: caughtUp, Waits: waits, Warnings: warnings(c, log), BoltIfFree: c.BoltIfFree, Bolt: boltapi.Options{
			Agent: c.BoltAgent, Advertise: c.BoltAdvertise, Gateways: c.BoltGateways, MaxConnections: c.BoltMaxConns, TxIdle: c.BoltTxIdle,
			PlainToo: c.BoltTLS == "optional", Web: boltWeb,
		},
	})
	addrs, err := srv.Listen(ctx, server.Addresses{HTTP: c.HTTP, GRPC: c.GRPC, Admin: c.Admin, Bolt: c.Bolt})
	if err != nil {
		return err
	}
	err = ready(ctx, log, c, engine, addrs)
	if err == nil {
		select {
		case err = <-srv.Failed():
		case err = <-failed:
		case <-ctx.Done():
			log.Info("draining", slog.Duration("timeout", c.DrainTimeout))
		}
	}
	stop() // a second signal ends the process at once
	if m, ok := store.(*member); ok && err == nil {
		awaitSpare(m.p, c.StopWait)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.DrainTimeout)
	defer cancel()
	srv.Drain(drain)
	log.Info("stopped")
	return err
}

// ignoreHangups keeps SIGHUP from ending the process until the caller calls stop.
func ignoreHangups(log *slog.Logger) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hangups {
			log.Info("SIGHUP is ignored: files of tokens and certificates are read again when they change, and other settings at a restart")
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-done
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
		if err := engine.SaveSlowLog(path); err != nil {
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
	for ; err != nil && (c.ShardAddresses != "" || c.Join != "") && ctx.Err() == nil; err = engine.Probe(ctx) {
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
	secure, asked := c.TLSCert != "", c.TokensFile != "" || c.OIDCIssuer != ""
	for _, l := range []struct {
		name, address string
		tls           bool
	}{{"http", addrs.HTTP, secure}, {"grpc", addrs.GRPC, secure}, {"admin", addrs.Admin, c.AdminTLS}, {"bolt", addrs.Bolt, secure}} {
		if l.address == "" {
			continue
		}
		log.Info("listening", slog.String("listener", l.name), slog.String("address", l.address), slog.String("open_to", reach(l.address)),
			slog.Bool("tls", l.tls), slog.Bool("client_certificates", l.tls && c.TLSClientCA != ""), slog.Bool("tokens", asked))
	}
	if c.ReadyFile != "" {
		if err := server.WriteReadyFile(c.ReadyFile, addrs); err != nil {
			return err
		}
	}
	log.Info("ready", slog.String("http", addrs.HTTP), slog.String("grpc", addrs.GRPC), slog.String("admin", addrs.Admin), slog.String("bolt", addrs.Bolt))
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
func logger(c *config.Config, level *slog.LevelVar) *slog.Logger {
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		panic(fmt.Sprintf("log level %q passed the checks", c.LogLevel))
	}
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
