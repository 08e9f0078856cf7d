package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/loader/resource"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/size"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Config is the configuration of a server. Setting x is the key x of the YAML file, the flag --x and the environment variable HOPGATE_X,
// with - and _ instead of changes of case.
type Config struct {
	DataDir         string        // directory of the graphs
	HTTP            string        // address of the HTTP listener
	HTTPHosts       string        // accepted host names besides loopback and addresses, without authentication
	HTTPOrigins     string        // origins of web pages that may use it
	GRPC            string        // address of the gRPC listener
	Admin           string        // address of the admin listener
	Bolt            string        // address of the Bolt listener; "" disables it
	BoltIfFree      bool          // the address is the default: if it is in use, disable Bolt
	BoltTLS         string        // required or optional, with a certificate
	BoltAdvertise   string        // address at which Bolt clients reach the server; "": the one each client used
	BoltGateways    string        // comma-separated addresses of all gateways for Bolt routing tables, or SRV records; "": only this server
	BoltOrigins     string        // origins of web pages that may open WebSockets, besides those of this machine
	Console         bool          // whether the HTTP listener serves the console
	BoltAgent       string        // version of Neo4j that Bolt clients see
	BoltMaxConns    int           // open Bolt connections
	BoltTxIdle      time.Duration // idle time after which a Bolt transaction or result ends
	Memory          size.Bytes    // the budget of caches, memtables and queries; 0: half of the available memory
	CacheMode       string        // where blocks are cached: block, page or direct
	BlockCache      size.Bytes    // size of the block cache; 0: three tenths of Memory
	TopologyCache   string        // size of the topology cache; "": three tenths of Memory
	LogRetention    string        // bytes and age of the commit log of each graph; see LogBounds
	ValueThreshold  size.Bytes    // values of at least this size are stored separately
	Shards          int           // number of shards of new graphs; 0: 1, or for hopgate shard as many as processes
	Replicas        int           // processes of a cluster that keep each shard; 0: one
	Join            string        // comma-separated processes that a cluster begins with, in order, or for a gateway SRV records; "": no cluster
	Peer            string        // the address of this process, among them unless it is added later; "": the only one of this machine
	ShardCA         string        // PEM file of the authority for the certificates of a cluster's processes; "": plain connections
	DrainTimeout    time.Duration // time for running queries on shutdown
	StopWait        time.Duration // time on shutdown for the other processes of a cluster with replicas to be in step; 0: none
	ReadyFile       string        // file that receives the addresses once all listeners accept
	QueryTimeout    time.Duration // default time limit of a query; 0: none
	MaxTimeout      time.Duration // maximum time limit of a query; 0: any
	QueryMemory     size.Bytes    // of one query; 0: a quarter of Memory
	SpillLimit      size.Bytes    // disk space of all queries; 0: eight times Memory
	TxIdleTimeout   time.Duration // idle time after which an explicit transaction rolls back
	MaxRows         int64         // of a result; 0: no limit
	MaxVisits       int64         // edges that a query may visit; 0: no limit
	MaxRequest      size.Bytes    // of a request's body
	MaxQueries      int           // concurrent requests; 0: no limit
	MaxQueue        int           // waiting requests
	QueueTimeout    time.Duration // time limit of waiting; 0: none
	UserLimits      string        // for each caller whose token has none of its own
	GraphLimits     string        // for each graph
	FetchAccess     string        // YAML file of access rules for fetches; "": all callers may fetch everything
	PlanCache       int           // number of prepared plans to keep
	ResponseCache   size.Bytes    // memory for answers; 0: none are kept
	PastMemory      size.Bytes    // memory of each graph for what has changed since the moments that are read
	SlowLog         int           // number of slow statements to keep
	ProfileHistory  size.Bytes    // size of the kept continuous profiles; 0 disables them
	Fetch           syntax.Limits // of JSON-array fetches
	TLSCert         string        // PEM file of the HTTP and gRPC listeners' certificate; "": plain connections
	TLSKey          string        // PEM file of its key
	TLSClientCA     string        // PEM file of the authority for client certificates; "": none required
	AdminTLS        bool          // whether the admin listener uses TLS, too
	TokensFile      string        // YAML file of hashed tokens; "": no authentication by tokens
	OIDCIssuer      string        // accepted issuer of JSON Web Tokens; "": none
	OIDCAudience    string        // required audience of JSON Web Tokens
	OIDCRoles       string        // claim that lists roles
	OTLPEndpoint    string        // URL of the collector of traces and metrics; "": none
	AuditLog        string        // file of the audit log, or stderr; "": none
	QueryLog        string        // file of the query log, or stderr; "": none
	QueryLogOptions string        // what it holds; see telemetry.ParseQueryLog
	ImportDir       string        // directory for LOAD CSV; "": none
	LoadCSVSources  string        // URLs for LOAD CSV; "": none
	TestProcedures  bool          // whether PUT /v1/test/procedures is enabled
	LogFormat       string        // text or json
	LogLevel        string        // debug, info, warn or error
}

// Default returns the default configuration.
func Default() Config {
	c := Config{
		Console: true, Bolt: "127.0.0.1:7687", BoltIfFree: true, BoltTLS: "required", BoltAgent: query.Neo4jVersion, BoltMaxConns: 4096, BoltTxIdle: 5 * time.Minute,
		DataDir: "./hopgate-data", HTTP: "127.0.0.1:8080", GRPC: "127.0.0.1:9090", Admin: "127.0.0.1:6060",
		CacheMode: "block", ValueThreshold: 1 << 10, LogRetention: "1GiB,24h", PastMemory: 64 << 20, DrainTimeout: 10 * time.Second,
		QueryTimeout: time.Minute, MaxTimeout: 24 * time.Hour, TxIdleTimeout: 30 * time.Second, MaxRequest: 64 << 20,
		MaxQueries: 128, MaxQueue: 1024, QueueTimeout: 10 * time.Second, UserLimits: "queries=50%", GraphLimits: "queries=75%", PlanCache: 1024, SlowLog: 128, ProfileHistory: 128 << 20,
		OIDCRoles: "roles", LogFormat: "text", LogLevel: "info",
	}
	c.Fetch.EnsureDefaults()
	return c
}

// versionNumber is the format of versions that clients of Neo4j parse.
var versionNumber = regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`)

// setting is a field with its name and help.
type setting struct {
	name, usage string
	value       pflag.Value
}

// settings lists all settings of c in display order.
func (c *Config) settings() []setting {
	return []setting{
		{"data-dir", "directory of the graphs", (*text)(&c.DataDir)},
		{"http", "address of the HTTP listener", (*text)(&c.HTTP)},
		{"http-hosts", "comma-separated host names that the HTTP and admin listeners accept besides localhost and addresses, such as graphs.example.com, *.example.com or *; with tokens they accept all", (*text)(&c.HTTPHosts)},
		{"http-origins", "comma-separated origins of web pages that may use the HTTP listener besides its own, such as https://app.example.com", (*text)(&c.HTTPOrigins)},
		{"console", "serve the console, pages for browsers, at / of the HTTP listener", (*truth)(&c.Console)},
		{"grpc", "address of the gRPC listener", (*text)(&c.GRPC)},
		{"admin", "address of the admin listener: probes, metrics, profiles", (*text)(&c.Admin)},
		{"bolt", "address of the listener for Neo4j's protocol, Bolt; empty disables it", (*text)(&c.Bolt)},
		{"bolt-tls", "with a certificate: required, or optional to accept plain connections too", (*text)(&c.BoltTLS)},
		{"bolt-advertise", "HOST:PORT at which Bolt clients reach the server; empty uses the address that each client connected to", (*text)(&c.BoltAdvertise)},
		{"bolt-gateways", "comma-separated addresses of all gateways for routing tables, or srv:NAME for SRV records; empty lists this server alone", (*text)(&c.BoltGateways)},
		{"bolt-origins", "comma-separated origins of web pages that may open WebSockets to the Bolt listener besides those of this machine", (*text)(&c.BoltOrigins)},
		{"bolt-agent", "version of Neo4j that Bolt clients see", (*text)(&c.BoltAgent)},
		{"bolt-max-connections", "largest number of open Bolt connections", (*whole)(&c.BoltMaxConns)},
		{"bolt-tx-idle-timeout", "time without a request after which a Bolt transaction or result ends", (*duration)(&c.BoltTxIdle)},
		{"memory", "budget of caches, memtables and queries, such as 2GiB; 0 takes half of the machine's memory", &c.Memory},
		{"cache-mode", "cache for blocks: block (a block cache above the page cache), page (the page cache alone) or direct (a block cache, with reads that bypass the page cache)", (*text)(&c.CacheMode)},
		{"block-cache", "size of the block cache; 0 takes three tenths of the budget", &c.BlockCache},
		{"topology-cache", "size of the topology cache of decoded lists and columns; 0 disables it, empty takes three tenths of the budget", (*text)(&c.TopologyCache)},
		{"value-threshold", "size from which a value is stored apart", &c.ValueThreshold},
		{"log-retention", "how much the commit log of a graph keeps, for change streams and reads in the past: bytes, an age, or both, such as 1GiB,24h; 0 keeps no log", (*text)(&c.LogRetention)},
		{"shards", "number of shards of new graphs; 0 takes 1, or for hopgate shard as many as processes, and cannot be changed in a cluster", (*whole)(&c.Shards)},
		{"join", "comma-separated addresses at which the processes that a cluster begins with reach each other, the same list for each; for a gateway also srv:NAME or srv://DNS-SERVER/NAME for SRV records; for hopgate serve, empty runs one process by itself", (*text)(&c.Join)},
		{"peer", "with join: the address by which the other processes reach this one, where hopgate serve listens for them; empty takes the one in join that grpc of hopgate shard names, or that is the only one of this machine; one that is not in join joins a cluster that graphctl member add adds it to", (*text)(&c.Peer)},
		{"replicas", "with join: number of processes that keep each shard: 1, or 3, 5 or 7, of which fewer than half may fail; for hopgate shard, 0 takes 1; all processes can restart with 3 in place of 1", (*whole)(&c.Replicas)},
		{"shard-ca", "with join: PEM file of the authority that signs their certificates (tls-cert); empty uses plain connections", (*text)(&c.ShardCA)},
		{"drain-timeout", "time for running queries after SIGTERM", (*duration)(&c.DrainTimeout)},
		{"stop-wait", "for processes with replicas: time that one waits after SIGTERM, before it drains, while a shard would lose its majority without it; 0 does not wait", (*duration)(&c.StopWait)},
		{"ready-file", "file that receives the addresses as JSON once all listeners accept", (*text)(&c.ReadyFile)},
		{"query-timeout", "default time limit of a statement, fetch or traversal; 0 is none", (*duration)(&c.QueryTimeout)},
		{"max-timeout", "largest time limit that a request may ask for; 0 is any", (*duration)(&c.MaxTimeout)},
		{"query-memory", "memory of one query; 0 takes a quarter of the budget", &c.QueryMemory},
		{"spill-limit", "disk space for sorts and aggregations that exceed their memory, in spill below data-dir, or for a gateway in temporary files; 0 takes eight times the budget", &c.SpillLimit},
		{"tx-idle-timeout", "time without a request after which an explicit transaction rolls back", (*duration)(&c.TxIdleTimeout)},
		{"max-rows", "largest number of rows of a result; 0 is no limit", (*long)(&c.MaxRows)},
		{"max-visits", "largest number of edges that a query visits; 0 is no limit", (*long)(&c.MaxVisits)},
		{"max-request", "largest size of a request", &c.MaxRequest},
		{"max-queries", "largest number of statements, fetches and traversals that run at one time; 0 is no limit", (*whole)(&c.MaxQueries)},
		{"max-queue", "largest number of waiting requests, at most half of them of one caller; the server refuses more", (*whole)(&c.MaxQueue)},
		{"queue-timeout", "time after which the server refuses a waiting request; 0 is none", (*duration)(&c.QueueTimeout)},
		{"user-limits", "limits of each caller whose token sets none, such as queries=50%,memory=1GiB,requests=100,bytes=10MiB,cost=1000000: concurrent queries, bytes they hold, requests a second, bytes a second, units that one request may be expected to take; a percentage refers to max-queries or to the memory of all queries", (*text)(&c.UserLimits)},
		{"graph-limits", "limits of each graph, in the same form", (*text)(&c.GraphLimits)},
		{"plan-cache", "number of prepared plans to keep", (*whole)(&c.PlanCache)},
		{"response-cache", "memory for answers of reads, each until a commit changes what it depends on; 0 keeps none", &c.ResponseCache},
		{"past-memory", "memory, of each graph, for what commits have changed since the moments that are read; 0 reads none that has changed since", &c.PastMemory},
		{"slow-log", "number of slow statements to keep", (*whole)(&c.SlowLog)},
		{"profile-history", "disk space for the profiles that the server takes continuously, for graphctl pprof; 0 disables them", &c.ProfileHistory},
		{"fetch-access", "YAML file of access rules for fetches; empty allows every caller every fetch and write", (*text)(&c.FetchAccess)},
		{"fetch-depth", "largest nesting of a JSON-array fetch", (*whole)(&c.Fetch.Depth)},
		{"fetch-objects", "largest number of objects in one object of a fetch", (*whole)(&c.Fetch.Objects)},
		{"fetch-arrays", "largest number of arrays in one object of a fetch", (*whole)(&c.Fetch.Arrays)},
		{"fetch-page", "highest page of a fetch", (*whole)(&c.Fetch.Page)},
		{"fetch-rows", "largest number of rows in the answer to a fetch", (*whole)(&c.Fetch.Rows)},
		{"fetch-writes", "largest number of objects that one fetch writes", (*whole)(&c.Fetch.Writes)},
		{"fetch-hops", "largest depth of a hop in a fetch", (*whole)(&c.Fetch.Hops)},
		{"tls-cert", "PEM file of the certificate of the HTTP and gRPC listeners; empty uses plain connections", (*text)(&c.TLSCert)},
		{"tls-key", "PEM file of the certificate's key", (*text)(&c.TLSKey)},
		{"tls-client-ca", "PEM file of the authority that signs client certificates; empty requires none", (*text)(&c.TLSClientCA)},
		{"admin-tls", "use TLS on the admin listener too", (*truth)(&c.AdminTLS)},
		{"tokens-file", "YAML file of hashed bearer tokens, see hopgate token; empty requires no tokens", (*text)(&c.TokensFile)},
		{"oidc-issuer", "issuer of JSON Web Tokens to accept as bearer tokens; empty accepts none", (*text)(&c.OIDCIssuer)},
		{"oidc-audience", "audience that JSON Web Tokens must name", (*text)(&c.OIDCAudience)},
		{"oidc-roles", "claim of JSON Web Tokens that lists roles: operations, fetcher, reader, writer, admin, a custom role, or GRAPH:ROLE", (*text)(&c.OIDCRoles)},
		{"otlp-endpoint", "URL of a collector for traces and metrics by OTLP over gRPC, such as http://localhost:4317; empty sends none", (*text)(&c.OTLPEndpoint)},
		{"audit-log", "file of the audit log, or stderr; empty disables it", (*text)(&c.AuditLog)},
		{"query-log", "file of the query log, a line of JSON for each request, or stderr; empty disables it", (*text)(&c.QueryLog)},
		{"query-log-options", "what the query log holds, such as sample=10%,slow=500ms,parameters=true,size=100MiB,files=5: a share of the requests besides slow and failed ones, with their parameters, in files of a size of which so many earlier ones stay", (*text)(&c.QueryLogOptions)},
		{"import-dir", "directory whose files LOAD CSV may read; empty is none", (*text)(&c.ImportDir)},
		{"load-csv-sources", "comma-separated prefixes of URLs that LOAD CSV may read, such as https://data.example.com/csv/ or s3://bucket/people/, hosts, and networks besides the public ones in which these may be; empty is none", (*text)(&c.LoadCSVSources)},
		{"test-procedures", "open PUT /v1/test/procedures", (*truth)(&c.TestProcedures)},
		{"log-format", "text or json", (*text)(&c.LogFormat)},
		{"log-level", "debug, info, warn or error", (*text)(&c.LogLevel)},
	}
}

// key returns the setting's name in the YAML file: dataDir for data-dir.
func (s *setting) key() string {
	parts := strings.Split(s.name, "-")
	for i := range parts[1:] {
		parts[i+1] = strings.ToUpper(parts[i+1][:1]) + parts[i+1][1:]
	}
	return strings.Join(parts, "")
}

// env returns the setting's environment variable: HOPGATE_DATA_DIR for data-dir.
func (s *setting) env() string {
	return "HOPGATE_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// Flags adds a flag for every setting, and --config.
func Flags(fs *pflag.FlagSet) {
	c := Default()
	for _, s := range c.settings() {
		f := fs.VarPF(s.value, s.name, "", s.usage)
		if s.value.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
	fs.String("config", "", "YAML file of settings")
}

// Load returns the configuration of a program with parsed flags. A flag overrides the environment, which overrides the file, which
// overrides the default. environ has the form of os.Environ.
func Load(fs *pflag.FlagSet, environ []string) (Config, error) {
	c := Default()
	env := map[string]string{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, "HOPGATE_") {
			env[name] = value
		}
	}
	path := env["HOPGATE_CONFIG"]
	delete(env, "HOPGATE_CONFIG")
	if f := fs.Lookup("config"); f != nil && f.Changed {
		path = f.Value.String()
	}
	settings := c.settings()
	asked := map[string]bool{} // settings in the file
	if path != "" {
		if err := loadFile(path, settings, asked); err != nil {
			return c, err
		}
	}
	var errs []error
	for _, s := range settings {
		if v, ok := env[s.env()]; ok {
			asked[s.name] = true
			if err := s.value.Set(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.env(), err))
			}
			delete(env, s.env())
		}
		if f := fs.Lookup(s.name); f != nil && f.Changed {
			asked[s.name] = true
			if err := s.value.Set(f.Value.String()); err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", s.name, err))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		// Kubernetes sets variables of this form in every pod for each service.
		if !strings.Contains(name, "_SERVICE_") && !strings.Contains(name, "_PORT") {
			errs = append(errs, fmt.Errorf("%s: there is no such setting", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	c.BoltIfFree = !asked["bolt"]
	return c, c.Validate()
}

func loadFile(path string, settings []setting, asked map[string]bool) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: must be a map of settings", path, root.Line)
	}
	var errs []error
	for i := 0; i < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		found := false
		for _, s := range settings {
			if s.key() != k.Value {
				continue
			}
			found, asked[s.name] = true, true
			if v.Kind != yaml.ScalarNode {
				errs = append(errs, fmt.Errorf("%s:%d: %s: must be a single value", path, v.Line, k.Value))
			} else if err := s.value.Set(v.Value); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %s: %w", path, v.Line, k.Value, err))
			}
		}
		if !found {
			errs = append(errs, fmt.Errorf("%s:%d: %s: there is no such setting", path, k.Line, k.Value))
		}
	}
	return errors.Join(errs...)
}

// Listeners returns the addresses of the listeners by the names of their settings; "" disables one.
func (c *Config) Listeners() map[string]string {
	return map[string]string{"http": c.HTTP, "grpc": c.GRPC, "admin": c.Admin, "bolt": c.Bolt}
}

// Validate returns all errors of the configuration, joined.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.DataDir == "" {
		bad("data-dir: must not be empty")
	}
	if c.Shards < 0 || c.Shards > 1024 {
		bad("shards: must be from 0 to 1024, is %d", c.Shards)
	}
	if c.ValueThreshold < 16 {
		bad("value-threshold: must be at least 16 bytes, is %d", c.ValueThreshold)
	}
	if _, _, err := c.LogBounds(); err != nil {
		bad("log-retention: %w", err)
	}
	if _, err := kv.ParseCacheMode(c.CacheMode); err != nil {
		bad("cache-mode: %w", err)
	}
	if c.TopologyCache != "" {
		if _, err := size.Parse(c.TopologyCache); err != nil {
			bad("topology-cache: %w", err)
		}
	}
	if c.Memory != 0 && c.Memory < 64<<20 {
		bad("memory: must be 0 or at least 64MiB, is %s", &c.Memory)
	}
	addresses := c.Listeners()
	addresses["bolt-advertise"] = c.BoltAdvertise
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		a := addresses[name]
		if strings.HasPrefix(name, "bolt") && a == "" {
			continue
		}
		_, port, err := net.SplitHostPort(a)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n > 65535 {
			bad("%s: must be an address such as 127.0.0.1:8080, is %q", name, a)
		}
	}
	if _, err := access.NewWeb(c.HTTPOrigins, c.HTTPHosts); err != nil {
		bad("%w", err)
	}
	if _, err := access.NewOrigins("bolt-origins", c.BoltOrigins, ""); err != nil {
		bad("%w", err)
	}
	if c.BoltTLS != "required" && c.BoltTLS != "optional" {
		bad("bolt-tls: must be required or optional, is %q", c.BoltTLS)
	}
	if !versionNumber.MatchString(c.BoltAgent) {
		bad("bolt-agent: must be a version such as 5.26.0, is %q", c.BoltAgent)
	}
	if c.BoltMaxConns < 1 || c.BoltTxIdle <= 0 {
		bad("bolt-max-connections and bolt-tx-idle-timeout: must be above 0")
	}
	if c.MaxRequest < 1<<10 || c.MaxRequest > 1<<30 {
		bad("max-request: must be from 1KiB to 1GiB, is %s", &c.MaxRequest)
	}
	if c.PlanCache < 1 || c.SlowLog < 1 {
		bad("plan-cache and slow-log: must be at least 1")
	}
	if f := &c.Fetch; min(f.Depth, f.Objects, f.Arrays, f.Page, f.Rows, f.Writes, f.Hops) < 1 {
		bad("fetch-depth and the other limits of fetches: must be at least 1")
	}
	if min(c.DrainTimeout, c.StopWait, c.QueryTimeout, c.MaxTimeout) < 0 || c.MaxRows < 0 || c.MaxVisits < 0 {
		bad("drain-timeout, stop-wait, query-timeout, max-timeout, max-rows and max-visits: must not be negative")
	}
	if c.MaxTimeout > 0 && c.QueryTimeout > c.MaxTimeout {
		bad("query-timeout: must be at most max-timeout, %v, is %v", c.MaxTimeout, c.QueryTimeout)
	}
	if min(c.MaxQueries, c.MaxQueue) < 0 || c.QueueTimeout < 0 {
		bad("max-queries, max-queue and queue-timeout: must not be negative")
	}
	for _, l := range []struct{ name, text string }{{"user-limits", c.UserLimits}, {"graph-limits", c.GraphLimits}} {
		if _, err := access.ParseLimits(l.text, access.Limits{}); err != nil {
			bad("%s: %w", l.name, err)
		}
	}
	if _, err := telemetry.ParseQueryLog(c.QueryLogOptions); err != nil {
		bad("query-log-options: %w", err)
	}
	if c.TxIdleTimeout <= 0 {
		bad("tx-idle-timeout: must be above 0, is %v", c.TxIdleTimeout)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		bad("tls-cert and tls-key: must be given together")
	}
	if c.TLSCert == "" && (c.TLSClientCA != "" || c.AdminTLS) {
		bad("tls-client-ca and admin-tls: need tls-cert and tls-key")
	}
	if c.TLSCert == "" && c.ShardCA != "" {
		bad("shard-ca: needs tls-cert and tls-key")
	}
	if c.Replicas != 0 && (c.Replicas%2 == 0 || c.Replicas < 0 || c.Replicas > 7) {
		bad("replicas: must be 1, 3, 5 or 7, is %d; an even number survives no more failures than one less", c.Replicas)
	}
	if c.OIDCIssuer != "" && (c.OIDCAudience == "" || c.OIDCRoles == "") {
		bad("oidc-issuer: needs oidc-audience and oidc-roles")
	}
	if u, err := url.Parse(c.OTLPEndpoint); c.OTLPEndpoint != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		bad("otlp-endpoint: must be a URL such as http://localhost:4317, is %q", c.OTLPEndpoint)
	}
	if _, err := resource.ParseList(c.LoadCSVSources); err != nil {
		bad("load-csv-sources: %w", err)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		bad("log-format: must be text or json, is %q", c.LogFormat)
	}
	switch c.LogLevel {
	case "debug", "info", "warn", "error":
	default:
		bad("log-level: must be debug, info, warn or error, is %q", c.LogLevel)
	}
	return errors.Join(errs...)
}

// YAML returns the configuration as a file that Load can read.
func (c *Config) YAML() []byte {
	var root yaml.Node
	root.Kind = yaml.MappingNode
	for _, s := range c.settings() {
		var k, v yaml.Node
		k.SetString(s.key())
		v.SetString(s.value.String())
		if s.value.Type() != "string" {
			v.Tag, v.Style = "", 0
		}
		root.Content = append(root.Content, &k, &v)
	}
	out, err := yaml.Marshal(&root)
	if err != nil {
		panic(err) // encoding a map of scalars cannot fail
	}
	return out
}

// LogBounds returns how many bytes and which age the commit log of a graph has at most: an age of 0 is any, bytes below 0 are no log.
func (c *Config) LogBounds() (bytes int64, age time.Duration, err error) {
	bytes = math.MaxInt64
	for part := range strings.SplitSeq(c.LogRetention, ",") {
		part = strings.TrimSpace(part)
		if part == "0" && !strings.Contains(c.LogRetention, ",") {
			return -1, 0, nil
		}
		if d, err := time.ParseDuration(part); err == nil && d > 0 && age == 0 {
			age = d
		} else if b, err := size.Parse(part); err == nil && b > 0 && bytes == math.MaxInt64 {
			bytes = int64(b)
		} else {
			return 0, 0, fmt.Errorf("%q is not a size such as 1GiB, an age such as 24h, both with a comma between, or 0", c.LogRetention)
		}
	}
	return bytes, age, nil
}
