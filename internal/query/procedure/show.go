package procedure

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

// text creates a string.
func text(s string) graph.Value { return graph.StringValue(s) }

// texts builds a list of strings.
func texts(ss []string) graph.Value {
	l := make([]graph.Value, len(ss))
	for i, s := range ss {
		l[i] = text(s)
	}
	return graph.ListValue(l)
}

// column builds rows of one column.
func column(ss []string) [][]graph.Value {
	rows := make([][]graph.Value, len(ss))
	for i, s := range ss {
		rows[i] = []graph.Value{text(s)}
	}
	return rows
}

// addShow adds the lists of SHOW, each with a filter, such as RANGE of SHOW RANGE INDEXES, and the requested names.
func (r *Registry) addShow() {
	list := func(name, results, description string, f run) {
		r.add("show."+name+"(filter :: STRING, names :: LIST<ANY>) :: ("+results+")", description, f)
	}
	list("indexes", "id :: INTEGER, name :: STRING, state :: STRING, populationPercent :: FLOAT, type :: STRING, entityType :: STRING, "+
		"labelsOrTypes :: LIST<STRING>, properties :: LIST<STRING>, indexProvider :: STRING, owningConstraint :: STRING?, "+
		"lastRead :: ZONED DATETIME?, readCount :: INTEGER?, +trackedSince :: ZONED DATETIME?, +options :: MAP, +failureMessage :: STRING, "+
		"+createStatement :: STRING", "List the indexes.", showIndexes)
	list("constraints", "id :: INTEGER, name :: STRING, type :: STRING, entityType :: STRING, labelsOrTypes :: LIST<STRING>, "+
		"properties :: LIST<STRING>, ownedIndex :: STRING?, propertyType :: STRING?, +options :: MAP, +createStatement :: STRING",
		"List the constraints.", showConstraints)
	list("labels", "label :: STRING, nodes :: INTEGER, ttl :: DURATION?, ttlProperty :: STRING?",
		"List the labels in use or with a TTL.", showLabels)
	list("types", "relationshipType :: STRING, relationships :: INTEGER, ttl :: DURATION?, ttlProperty :: STRING?",
		"List the relationship types in use or with a TTL.", showTypes)
	list("snapshots", "name :: STRING, state :: STRING, token :: STRING, commit :: INTEGER, time :: ZONED DATETIME, created :: ZONED DATETIME, "+
		"expires :: ZONED DATETIME?, logBytes :: INTEGER", "List the named snapshots.", showSnapshots)
	list("functions", "name :: STRING, category :: STRING, description :: STRING, +signature :: STRING, +isBuiltIn :: BOOLEAN, "+
		"+argumentDescription :: LIST<MAP>, +returnDescription :: STRING, +aggregating :: BOOLEAN, +rolesExecution :: LIST<STRING>?, "+
		"+rolesBoostedExecution :: LIST<STRING>?, +isDeprecated :: BOOLEAN, +deprecatedBy :: STRING?", "List the functions.", showFunctions)
	list("procedures", "name :: STRING, description :: STRING, mode :: STRING, worksOnSystem :: BOOLEAN, +signature :: STRING, "+
		"+argumentDescription :: LIST<MAP>, +returnDescription :: LIST<MAP>, +admin :: BOOLEAN, +rolesExecution :: LIST<STRING>?, "+
		"+rolesBoostedExecution :: LIST<STRING>?, +isDeprecated :: BOOLEAN, +deprecatedBy :: STRING?, +option :: MAP",
		"List the procedures.", r.showProcedures)
}

// used keeps the names that something has.
func used(names []string, counts map[string]uint64) []string {
	var out []string
	for _, n := range names {
		if counts[n] > 0 {
			out = append(out, n)
		}
	}
	return out
}

// listed reports whether a name is among those that a call lists.
func listed(c *exec.Call, name string) bool {
	names := c.Args[1].List()
	return len(names) == 0 || slices.ContainsFunc(names, func(v graph.Value) bool { return v.Kind() == graph.String && v.Str() == name })
}

func entity(ix *graph.Index) (kind, name string) {
	if ix.Type != "" {
		return "RELATIONSHIP", ix.Type
	}
	return "NODE", ix.Label
}

func showIndexes(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
	var rows [][]graph.Value
	for _, ix := range c.Graph.Indexes() {
		if !ix.Searches() || len(ix.Props) == 0 || !listed(c, ix.Name) || !slices.Contains([]string{"", "ALL", ix.Kind.String()}, c.Args[0].Str()) {
			continue
		}
		kind, _ := entity(&ix)
		state, percent := "ONLINE", 100.0
		switch {
		case ix.Failure != "":
			state, percent = "FAILED", 0
		case !ix.Online:
			state, percent = "POPULATING", 100*c.Graph.IndexProgress(ix.ID)
		}
		owner := graph.Value{}
		if ix.IsConstraint() {
			owner = text(ix.Name)
		}
		rows = append(rows, []graph.Value{
			graph.IntValue(int64(ix.ID)), text(ix.Name), text(state), graph.FloatValue(percent), text(ix.Kind.String()), text(kind),
			texts(ix.Names()), texts(ix.Props), text(ix.Kind.Provider()), owner,
			{},
			{},
			{},
			indexOptions(&ix), text(ix.Failure),
			text(createStatement(&ix)),
		})
	}
	return byName(rows, 1), nil
}

// indexOptions are the OPTIONS of an index.
func indexOptions(ix *graph.Index) graph.Value {
	return graph.MapValue([]graph.MapEntry{
		{Key: "indexConfig", Value: graph.MapValue(indexConfig(ix))}, {Key: "indexProvider", Value: text(ix.Kind.Provider())},
	})
}

// indexConfig are the settings of an index, sorted by their names.
func indexConfig(ix *graph.Index) []graph.MapEntry {
	switch ix.Kind {
	case graph.PointIndex:
		return pointConfig()
	case graph.VectorIndex:
		return vectorConfig(&ix.Vector)
	case graph.FullTextIndex:
		return []graph.MapEntry{
			{Key: "fulltext.analyzer", Value: text(ix.Text.Analyzer)}, {Key: "fulltext.eventually_consistent", Value: graph.BoolValue(ix.Text.Eventual)},
		}
	}
	return nil
}

func vectorConfig(o *graph.VectorOptions) []graph.MapEntry {
	var config []graph.MapEntry
	if o.Dimensions > 0 {
		config = append(config, graph.MapEntry{Key: "vector.dimensions", Value: graph.IntValue(int64(o.Dimensions))})
	}
	if o.HNSW {
		config = append(config,
			graph.MapEntry{Key: "vector.hnsw.ef_construction", Value: graph.IntValue(int64(o.EfConstruction))},
			graph.MapEntry{Key: "vector.hnsw.m", Value: graph.IntValue(int64(o.M))},
		)
	}
	return append(config,
		graph.MapEntry{Key: "vector.quantization.enabled", Value: graph.BoolValue(o.Quantized)},
		graph.MapEntry{Key: "vector.similarity_function", Value: text(strings.ToUpper(o.Similarity.String()))},
	)
}

// pointConfig are the settings of Neo4j's point indexes, with the values that they have by themselves.
func pointConfig() []graph.MapEntry {
	var config []graph.MapEntry
	for _, crs := range []graph.CRS{graph.Cartesian3D, graph.Cartesian, graph.WGS843D, graph.WGS84} {
		far := []float64{1e6, 1e6, 1e6}
		if crs.Geographic() {
			far = []float64{180, 90, 1e6}
		}
		var least, most []graph.Value
		for _, c := range far[:crs.Dimensions()] {
			least, most = append(least, graph.FloatValue(-c)), append(most, graph.FloatValue(c))
		}
		config = append(config, graph.MapEntry{Key: "spatial." + crs.String() + ".max", Value: graph.ListValue(most)},
			graph.MapEntry{Key: "spatial." + crs.String() + ".min", Value: graph.ListValue(least)})
	}
	return config
}

// optionsText writes the OPTIONS of an index with settings into its statement.
func optionsText(ix *graph.Index) string {
	var config []string
	for _, e := range indexConfig(ix) {
		config = append(config, tick(e.Key)+": "+settingText(e.Value))
	}
	if config == nil {
		return ""
	}
	return " OPTIONS {indexConfig: {" + strings.Join(config, ",") + "}, indexProvider: '" + ix.Kind.Provider() + "'}"
}

func settingText(v graph.Value) string {
	switch v.Kind() {
	case graph.List:
		var numbers []string
		for _, n := range v.List() {
			numbers = append(numbers, strconv.FormatFloat(n.Float(), 'f', 1, 64))
		}
		return "[" + strings.Join(numbers, ", ") + "]"
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return "'" + v.Str() + "'"
}

// tick puts a name in backticks, as Neo4j does in every command it writes.
func tick(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// createStatement returns the command that creates an index or a constraint.
func createStatement(ix *graph.Index) string {
	var names []string
	for _, name := range ix.Names() {
		names = append(names, tick(name))
	}
	variable, pattern := "n", "(n:"+strings.Join(names, "|")+")"
	if ix.Type != "" {
		variable, pattern = "r", "()-[r:"+strings.Join(names, "|")+"]-()"
	}
	props := make([]string, len(ix.Props))
	for i, p := range ix.Props {
		props[i] = variable + "." + tick(p)
	}
	name, on := tick(ix.Name), "("+strings.Join(props, ", ")+")"
	switch {
	case ix.Unique && ix.Required && ix.Type == "":
		return "CREATE CONSTRAINT " + name + " FOR " + pattern + " REQUIRE " + on + " IS NODE KEY"
	case ix.Unique && ix.Required:
		return "CREATE CONSTRAINT " + name + " FOR " + pattern + " REQUIRE " + on + " IS RELATIONSHIP KEY"
	case ix.Unique:
		return "CREATE CONSTRAINT " + name + " FOR " + pattern + " REQUIRE " + on + " IS UNIQUE"
	case ix.Required:
		return "CREATE CONSTRAINT " + name + " FOR " + pattern + " REQUIRE " + on + " IS NOT NULL"
	}
	if ix.Kind == graph.FullTextIndex {
		on = "EACH [" + strings.Join(props, ", ") + "]"
	}
	return "CREATE " + ix.Kind.String() + " INDEX " + name + " FOR " + pattern + " ON " + on + optionsText(ix)
}

func byName(rows [][]graph.Value, at int) [][]graph.Value {
	slices.SortFunc(rows, func(a, b []graph.Value) int { return cmp.Compare(a[at].Str(), b[at].Str()) })
	return rows
}

func showConstraints(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
	var rows [][]graph.Value
	for _, ix := range c.Graph.Indexes() {
		if !ix.IsConstraint() || !ix.Online || len(ix.Props) == 0 || !listed(c, ix.Name) || !constraintIs(c.Args[0].Str(), &ix) {
			continue
		}
		kind, name := entity(&ix)
		owned, options := graph.Value{}, graph.MapValue(nil)
		if ix.Indexed {
			owned, options = text(ix.Name), indexOptions(&ix)
		}
		rows = append(rows, []graph.Value{
			graph.IntValue(int64(ix.ID)), text(ix.Name), text(constraintType(&ix)), text(kind), texts([]string{name}), texts(ix.Props), owned,
			{},
			options, text(createStatement(&ix)),
		})
	}
	return byName(rows, 1), nil
}

// constraintType names the kind of a constraint as Neo4j does.
func constraintType(ix *graph.Index) string {
	kind, _ := entity(ix)
	switch {
	case ix.Unique && ix.Required:
		return kind + "_KEY"
	case ix.Unique && kind == "NODE":
		return "UNIQUENESS"
	case ix.Unique:
		return "RELATIONSHIP_UNIQUENESS"
	}
	return kind + "_PROPERTY_EXISTENCE"
}

// constraintIs reports whether a constraint is of the kind that a filter names, such as NODE UNIQUENESS.
func constraintIs(filter string, ix *graph.Index) bool {
	kind, _ := entity(ix)
	rest, of := strings.CutPrefix(filter, kind+" ")
	switch {
	case filter == "" || filter == "ALL":
		return true
	case !of && (strings.HasPrefix(filter, "NODE ") || strings.HasPrefix(filter, "RELATIONSHIP ")):
		return false
	}
	switch strings.TrimPrefix(rest, "PROPERTY ") {
	case "UNIQUE", "UNIQUENESS":
		return ix.Unique && !ix.Required
	case "KEY":
		return ix.Unique && ix.Required
	case "EXIST", "EXISTENCE":
		return ix.Required && !ix.Unique
	}
	return false
}

// forms are functions with a form of their own in the grammar.
var forms = []struct{ name, category, description, signature string }{
	{"all", "Predicate", "Whether a condition holds for all elements of a list.", "all(variable IN list WHERE predicate) :: BOOLEAN"},
	{"any", "Predicate", "Whether a condition holds for at least one element of a list.", "any(variable IN list WHERE predicate) :: BOOLEAN"},
	{"none", "Predicate", "Whether a condition holds for no element of a list.", "none(variable IN list WHERE predicate) :: BOOLEAN"},
	{"single", "Predicate", "Whether a condition holds for one element of a list.", "single(variable IN list WHERE predicate) :: BOOLEAN"},
	{"reduce", "List", "Compute a value from the elements of a list, one after another.", "reduce(accumulator = initial, variable IN list | expression) :: ANY"},
}

func showFunctions(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
	if c.Args[0].Str() == "USER DEFINED" {
		return nil, nil
	}
	var rows [][]graph.Value
	list := func(name, category, description, signature string, aggregating bool) {
		if !listed(c, name) {
			return
		}
		args, result := describe(signature)
		rows = append(rows, []graph.Value{
			text(name), text(category), text(description), text(signature), graph.BoolValue(true), graph.ListValue(args), text(result),
			graph.BoolValue(aggregating),
			{},
			{},
			graph.BoolValue(false),
			{},
		})
	}
	for _, f := range fn.All() {
		if !f.Internal {
			list(f.Name, f.Category, f.Description, f.Signature, f.Aggregating())
		}
	}
	for _, f := range forms {
		list(f.name, f.category, f.description, f.signature, false)
	}
	return byName(rows, 0), nil
}

// describe takes a function's signature apart: name(argument :: TYPE [, …]) :: TYPE.
func describe(signature string) (args []graph.Value, result string) {
	_, rest, _ := strings.Cut(signature, "(")
	at := strings.LastIndex(rest, ") :: ")
	if at < 0 {
		return nil, ""
	}
	result = rest[at+len(") :: "):]
	for part := range strings.SplitSeq(strings.NewReplacer("[", "", "]", "").Replace(rest[:at]), ", ") {
		if name, typ, ok := strings.Cut(strings.TrimSpace(part), " :: "); ok {
			args = append(args, argument(strings.TrimPrefix(name, ", "), typ))
		}
	}
	return args, result
}

// argument describes an argument or a result.
func argument(name, typ string) graph.Value {
	return graph.MapValue([]graph.MapEntry{
		{Key: "description", Value: text(name + " :: " + typ)},
		{Key: "isDeprecated", Value: graph.BoolValue(false)},
		{Key: "name", Value: text(name)},
		{Key: "type", Value: text(typ)},
	})
}

func (r *Registry) showProcedures(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
	var rows [][]graph.Value
	fields := func(fs []cypher.Field) graph.Value {
		vs := make([]graph.Value, len(fs))
		for i, f := range fs {
			vs[i] = argument(f.Name, f.Type)
		}
		return graph.ListValue(vs)
	}
	for _, p := range r.builtin {
		if p.list() || !listed(c, p.sig.Name) {
			continue
		}
		rows = append(rows, []graph.Value{
			text(p.sig.Name), text(p.description), text(p.mode()), graph.BoolValue(strings.HasPrefix(p.sig.Name, "db")), text(p.sig.String()),
			fields(p.sig.Params), fields(p.sig.Results), graph.BoolValue(false),
			{},
			{},
			graph.BoolValue(false),
			{},
			graph.MapValue([]graph.MapEntry{{Key: "deprecated", Value: graph.BoolValue(false)}}),
		})
	}
	return byName(rows, 0), nil
}

// mode is what a procedure does to the graph, in Neo4j's words.
func (p *procedure) mode() string {
	switch {
	case p.sig.Writes:
		return "WRITE"
	case strings.HasPrefix(p.sig.Name, "dbms."):
		return "DBMS"
	}
	return "READ"
}

// showNames lists labels or relationship types with their sizes and TTL.
func showNames(c *exec.Call, names []string, counts map[string]uint64, ttl func(name string) *graph.TTL) [][]graph.Value {
	var rows [][]graph.Value
	for _, name := range names {
		t := ttl(name)
		if counts[name] == 0 && t == nil || !listed(c, name) {
			continue
		}
		row := []graph.Value{text(name), graph.IntValue(int64(counts[name])), {}, {}}
		if t != nil {
			row[2] = graph.DurationValue(temporal.DurationOf(t.After))
			if t.Property != "" {
				row[3] = text(t.Property)
			}
		}
		rows = append(rows, row)
	}
	return byName(rows, 0)
}

func showLabels(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
	if err != nil {
		return nil, err
	}
	return showNames(c, c.Graph.AllLabels(), counts.ByLabel, func(name string) *graph.TTL { return graph.FindTTL(c.Graph.TTLs(), name, "") }), nil
}

func showTypes(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
	if err != nil {
		return nil, err
	}
	return showNames(c, c.Graph.AllTypes(), counts.ByType, func(name string) *graph.TTL { return graph.FindTTL(c.Graph.TTLs(), "", name) }), nil
}
