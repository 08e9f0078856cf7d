package procedure

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/option"
)

// The graphs that have names of their own.
const (
	defaultGraph = "default"
	neo4jGraph   = "neo4j"  // the name of the default graph for Neo4j's clients
	systemGraph  = "system" // where Neo4j's clients send commands for graphs
)

// addServer adds the procedures that identify the server and its callers.
func (r *Registry) addServer() {
	r.add("dbms.components() :: (name :: STRING, versions :: LIST<STRING>, edition :: STRING)",
		"The component and the version that Neo4j's clients ask for.",
		func(context.Context, *exec.Call) ([][]graph.Value, error) {
			return [][]graph.Value{{text("Neo4j Kernel"), texts([]string{r.host.Server().Neo4j}), text("community")}}, nil
		})
	r.add("dbms.info() :: (id :: STRING, name :: STRING, creationDate :: STRING?)", "The server's own name and version.",
		func(context.Context, *exec.Call) ([][]graph.Value, error) {
			return [][]graph.Value{{text("hopgate"), text("Hopgate " + r.host.Server().Version), {}}}, nil
		})
	r.add("db.ping() :: (success :: BOOLEAN)", "Answer.",
		func(context.Context, *exec.Call) ([][]graph.Value, error) {
			return [][]graph.Value{{graph.BoolValue(true)}}, nil
		})
	r.add("db.info() :: (id :: STRING, name :: STRING, creationDate :: STRING?)", "Name the graph, as SHOW DATABASES does.",
		func(ctx context.Context, _ *exec.Call) ([][]graph.Value, error) {
			name := r.host.Graph(ctx)
			return [][]graph.Value{{text(name), text(r.clientName(name)), {}}}, nil
		})
	config := func(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
		var rows [][]graph.Value
		for _, s := range r.settings() {
			if len(c.Args) == 0 || strings.Contains(s.name, c.Args[0].Str()) {
				rows = append(rows, []graph.Value{text(s.name), text(s.value)})
			}
		}
		return rows, nil
	}
	r.add("dbms.clientConfig() :: (name :: STRING, value :: STRING)", "The settings that Neo4j's clients follow.", config)
	r.add(`dbms.listConfig(searchString = "" :: STRING) :: (name :: STRING, value :: STRING)`, "The settings that Neo4j's clients follow.", config)
	r.add("dbms.procedures() :: (name :: STRING, signature :: STRING, description :: STRING, mode :: STRING, worksOnSystem :: BOOLEAN)",
		"List the procedures, as SHOW PROCEDURES does.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			rows, err := r.showProcedures(ctx, &exec.Call{Graph: c.Graph, Tx: c.Tx, Args: []graph.Value{text(""), {}}})
			for i, p := range rows {
				rows[i] = []graph.Value{p[0], p[4], p[1], p[2], p[3]}
			}
			return rows, err
		})
	r.add("dbms.functions() :: (name :: STRING, signature :: STRING, category :: STRING, description :: STRING, aggregating :: BOOLEAN)",
		"List the functions, as SHOW FUNCTIONS does.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			rows, err := showFunctions(ctx, &exec.Call{Graph: c.Graph, Tx: c.Tx, Args: []graph.Value{text(""), {}}})
			for i, f := range rows {
				rows[i] = []graph.Value{f[0], f[3], f[1], f[2], f[7]}
			}
			return rows, err
		})
	r.add("dbms.listConnections() :: (connectionId :: STRING, connectTime :: STRING, connector :: STRING, username :: STRING, userAgent :: STRING, "+
		"serverAddress :: STRING, clientAddress :: STRING)", "List the connections of Bolt's clients.",
		func(ctx context.Context, _ *exec.Call) ([][]graph.Value, error) {
			var rows [][]graph.Value
			for _, c := range r.host.Connections(ctx) {
				rows = append(rows, []graph.Value{
					text(c.ID), text(c.Since.UTC().Format("2006-01-02T15:04:05.000Z")), text(c.Protocol), text(c.Caller), text(c.Agent), text(c.Server),
					text(c.Client),
				})
			}
			return rows, nil
		})
	r.add("dbms.queryJmx(query :: STRING) :: (name :: STRING, description :: STRING, attributes :: MAP)", "Nothing: there are no Java beans.",
		func(context.Context, *exec.Call) ([][]graph.Value, error) { return nil, nil })
	r.add("dbms.licenseAgreementDetails() :: (status :: STRING, daysLeftOnTrial :: INTEGER, totalTrialDays :: INTEGER)",
		"The licence is open.", func(context.Context, *exec.Call) ([][]graph.Value, error) {
			return [][]graph.Value{{text("yes"), graph.IntValue(0), graph.IntValue(0)}}, nil
		})
	r.add("dbms.showCurrentUser() :: (username :: STRING, roles :: LIST<STRING>, flags :: LIST<STRING>)", "Show who asks.",
		func(ctx context.Context, _ *exec.Call) ([][]graph.Value, error) {
			name, roles := "", []string(nil)
			if id := access.Caller(ctx); id != nil {
				name, roles = id.Name, rolesOf(id)
			}
			return [][]graph.Value{{text(name), texts(roles), texts(nil)}}, nil
		})
	r.addGraphs()
	r.addUsers()
	r.add("show.settings(filter :: STRING, names :: LIST<ANY>) :: (name :: STRING, value :: STRING, isDynamic :: BOOLEAN, defaultValue :: STRING, "+
		"description :: STRING, +startupValue :: STRING, +isExplicitlySet :: BOOLEAN, +validValues :: STRING, +isDeprecated :: BOOLEAN)",
		"List the settings that Neo4j's clients follow.", r.showSettings)
}

// setting is one that Neo4j's clients ask for.
type setting struct{ name, value, description string }

// settings returns the settings that Neo4j's clients follow, by name.
func (r *Registry) settings() []setting {
	return []setting{
		{"browser.allow_outgoing_connections", "false", "Whether the browser may connect to the network."},
		{"browser.credential_timeout", "0s", "How long the browser keeps credentials."},
		{"browser.retain_connection_credentials", "true", "Whether the browser keeps credentials."},
		{"client.allow_telemetry", "false", "Whether clients may report their use."},
		{"dbms.default_database", neo4jGraph, "The graph of sessions that name none."},
		{"dbms.security.auth_enabled", strconv.FormatBool(r.host.Authenticates()), "Whether callers are asked who they are."},
		{"server.metrics.prefix", "hopgate", "What the names of metrics begin with."},
	}
}

func (r *Registry) showSettings(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
	var names []graph.Value // of strings, or of lists of them
	for _, n := range c.Args[1].List() {
		if n.Kind() == graph.List {
			names = append(names, n.List()...)
			continue
		}
		names = append(names, n)
	}
	var rows [][]graph.Value
	for _, s := range r.settings() {
		if len(names) == 0 || slices.ContainsFunc(names, func(n graph.Value) bool { return n.Kind() == graph.String && n.Str() == s.name }) {
			v, no := text(s.value), graph.BoolValue(false)
			rows = append(rows, []graph.Value{text(s.name), v, no, v, text(s.description), v, no, text("a value of the server's own settings"), no})
		}
	}
	return rows, nil
}

// addGraphs adds the lists of graphs: that of SHOW GRAPHS, and that of SHOW DATABASES in Neo4j's names and columns.
func (r *Registry) addGraphs() {
	r.add("show.graphs(filter :: STRING, names :: LIST<ANY>) :: (name :: STRING, currentStatus :: STRING, default :: BOOLEAN)", "List the graphs.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			var rows [][]graph.Value
			for _, name := range r.graphs(ctx) {
				if one := onlyDefault(c); one && name != defaultGraph || !listed(c, name) {
					continue
				}
				rows = append(rows, []graph.Value{text(name), text("online"), graph.BoolValue(name == defaultGraph)})
			}
			return rows, nil
		})
	r.add("show.databases(filter :: STRING, names :: LIST<ANY>) :: (name :: STRING, type :: STRING, aliases :: LIST<STRING>, access :: STRING, "+
		"+databaseID :: STRING, +serverID :: STRING, address :: STRING, role :: STRING, writer :: BOOLEAN, requestedStatus :: STRING, "+
		"currentStatus :: STRING, statusMessage :: STRING, default :: BOOLEAN, home :: BOOLEAN, +currentPrimariesCount :: INTEGER, "+
		"+currentSecondariesCount :: INTEGER, +requestedPrimariesCount :: INTEGER?, +requestedSecondariesCount :: INTEGER?, "+
		"+creationTime :: ZONED DATETIME?, +lastStartTime :: ZONED DATETIME?, +lastStopTime :: ZONED DATETIME?, +store :: STRING, "+
		"+lastCommittedTxn :: INTEGER?, +replicationLag :: INTEGER, constituents :: LIST<STRING>, +options :: MAP)",
		"List the graphs as Neo4j's clients know them.", r.showDatabases)
}

// graphs returns the graphs in which the caller has a role.
func (r *Registry) graphs(ctx context.Context) []string {
	return slices.DeleteFunc(slices.Clone(r.host.Store().Graphs()), func(name string) bool { return access.Check(ctx, name, access.Fetcher) != nil })
}

func onlyDefault(c *exec.Call) bool {
	return c.Args[0].Str() == "DEFAULT" || c.Args[0].Str() == "HOME"
}

func (r *Registry) showDatabases(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	names := r.graphs(ctx)
	type database struct {
		name, id string // the id is the graph's own name
		aliases  []string
	}
	var list []database
	for _, name := range names {
		d := database{name: r.clientName(name), id: name}
		if d.name != name {
			d.aliases = []string{name}
		}
		list = append(list, d)
	}
	if !slices.Contains(names, systemGraph) {
		list = append(list, database{name: systemGraph, id: systemGraph})
	}
	slices.SortFunc(list, func(a, b database) int { return cmp.Compare(a.name, b.name) })
	yes, no, one := graph.BoolValue(true), graph.BoolValue(false), graph.IntValue(1)
	var rows [][]graph.Value
	for _, d := range list {
		standard := d.name == defaultGraph || len(d.aliases) > 0
		if onlyDefault(c) && !standard || !listed(c, d.name) && !slices.ContainsFunc(d.aliases, func(a string) bool { return listed(c, a) }) {
			continue
		}
		kind, isDefault := "standard", no
		if d.name == systemGraph {
			kind = "system"
		}
		if standard {
			isDefault = yes
		}
		last, options := r.logOf(ctx, d.name)
		rows = append(rows, []graph.Value{
			text(d.name), text(kind), texts(d.aliases), text("read-write"), text(d.id), text("hopgate"), text(r.host.Server().Bolt), text("primary"), yes,
			text("online"), text("online"), text(""), isDefault, isDefault, one, graph.IntValue(0), one, graph.IntValue(0),
			{},
			{},
			{},
			text("hopgate"),
			last, graph.IntValue(0), texts(nil), options,
		})
	}
	return rows, nil
}

// clientName is the name of a graph for Neo4j's clients.
func (r *Registry) clientName(name string) string {
	if name == defaultGraph && !slices.Contains(r.host.Store().Graphs(), neo4jGraph) {
		return neo4jGraph
	}
	return name
}

// logOf returns what the log of a database tells: the last transaction, null if there is no log, and the options. Both are null if its leader
// does not answer.
func (r *Registry) logOf(ctx context.Context, name string) (last, options graph.Value) {
	if name == neo4jGraph && r.clientName(defaultGraph) == neo4jGraph {
		name = defaultGraph
	}
	g, err := r.host.Store().Graph(name)
	if err != nil { // the system, or dropped since
		return last, graph.MapValue(nil)
	}
	log := g.ChangeLog()
	if log == nil {
		return last, option.Options(nil)
	}
	st, err := log.LogState(ctx)
	if err != nil {
		return graph.Value{}, graph.Value{}
	}
	return graph.IntValue(changes.LastTx(&st)), option.Options(&st)
}

// addUsers adds the lists of permissions. Tokens and certificates define these, outside the server; a caller sees only its own.
func (r *Registry) addUsers() {
	const columns = "user :: STRING, roles :: LIST<STRING>, passwordChangeRequired :: BOOLEAN, suspended :: BOOLEAN, home :: STRING"
	own := func(ctx context.Context, _ *exec.Call) ([][]graph.Value, error) {
		id := access.Caller(ctx)
		if id == nil {
			return nil, nil
		}
		no := graph.BoolValue(false)
		return [][]graph.Value{{text(id.Name), texts(rolesOf(id)), no, no, text(neo4jGraph)}}, nil
	}
	r.add("show.user(filter :: STRING, names :: LIST<ANY>) :: ("+columns+")", "Show who asks.", own)
	r.add("show.users(filter :: STRING, names :: LIST<ANY>) :: ("+columns+")", "Show who asks.", own)
	r.add("show.roles(filter :: STRING, names :: LIST<ANY>) :: (role :: STRING)", "List the roles of who asks.",
		func(ctx context.Context, _ *exec.Call) ([][]graph.Value, error) {
			if id := access.Caller(ctx); id != nil {
				return column(rolesOf(id)), nil
			}
			return nil, nil
		})
	r.addPrivileges()
}

// rolesOf names the roles of a caller, those of one graph behind its name.
func rolesOf(id *access.Identity) []string {
	var roles []string
	if id.Every != access.None {
		roles = append(roles, id.Every.String())
	}
	roles = append(roles, id.Roles...)
	for _, name := range slices.Sorted(maps.Keys(id.Graph)) {
		roles = append(roles, name+":"+id.Graph[name].String())
	}
	for _, name := range slices.Sorted(maps.Keys(id.GraphRoles)) {
		for _, role := range id.GraphRoles[name] {
			roles = append(roles, name+":"+role)
		}
	}
	return roles
}

// badArgument reports that an argument of a procedure has the wrong type.
func badArgument(procedure, argument, want string, v graph.Value) error {
	return graph.TypeError("InvalidArgumentType", "%s: %s must be %s, not %s", procedure, argument, want, notation.Describe(v))
}
