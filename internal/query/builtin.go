package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/cypher/check"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

func text(s string) graph.Value { return graph.StringValue(s) }

func texts(ss []string) graph.Value {
	l := make([]graph.Value, len(ss))
	for i, s := range ss {
		l[i] = text(s)
	}
	return graph.ListValue(l)
}

// column makes rows of one column.
func column(ss []string) [][]graph.Value {
	rows := make([][]graph.Value, len(ss))
	for i, s := range ss {
		rows[i] = []graph.Value{text(s)}
	}
	return rows
}

func newProcedures() *procedures { return &procedures{builtin: map[string]*procedure{}} }

// register adds the procedures that are always there.
func (e *Engine) register() {
	add := func(signature, description string, call func(ctx context.Context, g shard.Graph, tx shard.Tx, args []graph.Value) ([][]graph.Value, error)) {
		sig, err := parseSignature(signature)
		if err != nil {
			panic(err)
		}
		e.procs.builtin[strings.ToLower(sig.Name)] = &procedure{sig: sig, description: description, call: call}
	}
	add("db.labels() :: (label :: STRING)", "List the labels in use.",
		func(_ context.Context, g shard.Graph, tx shard.Tx, _ []graph.Value) ([][]graph.Value, error) {
			return column(used(g.AllLabels(), tx.Counts().ByLabel)), nil
		})
	add("db.relationshipTypes() :: (relationshipType :: STRING)", "List the relationship types in use.",
		func(_ context.Context, g shard.Graph, tx shard.Tx, _ []graph.Value) ([][]graph.Value, error) {
			return column(used(g.AllTypes(), tx.Counts().ByType)), nil
		})
	add("db.propertyKeys() :: (propertyKey :: STRING)", "List the property keys.",
		func(_ context.Context, g shard.Graph, _ shard.Tx, _ []graph.Value) ([][]graph.Value, error) {
			return column(g.AllProps()), nil
		})
	add("dbms.components() :: (name :: STRING, versions :: LIST<STRING>, edition :: STRING)", "List the components and their versions.",
		func(context.Context, shard.Graph, shard.Tx, []graph.Value) ([][]graph.Value, error) {
			return [][]graph.Value{{text("Hopgate"), texts([]string{Version()}), text("community")}}, nil
		})
	add("db.ping() :: (success :: BOOLEAN)", "Answer.",
		func(context.Context, shard.Graph, shard.Tx, []graph.Value) ([][]graph.Value, error) {
			return [][]graph.Value{{graph.BoolValue(true)}}, nil
		})
	add("db.info() :: (id :: STRING, name :: STRING, creationDate :: STRING?)", "Name the graph.",
		func(_ context.Context, g shard.Graph, _ shard.Tx, _ []graph.Value) ([][]graph.Value, error) {
			name := ""
			for _, n := range e.store.Graphs() {
				if other, err := e.store.Graph(n); err == nil && other == g {
					name = n
				}
			}
			return [][]graph.Value{{text(name), text(name), {}}}, nil
		})
	e.registerSchema(add)
	add("show.indexes(filter :: STRING, names :: LIST<STRING>) :: (id :: INTEGER, name :: STRING, state :: STRING, populationPercent :: FLOAT, "+
		"type :: STRING, entityType :: STRING, labelsOrTypes :: LIST<STRING>, properties :: LIST<STRING>, owningConstraint :: STRING?, "+
		"failureMessage :: STRING?)",
		"List the indexes.", e.showIndexes)
	add("db.awaitIndexes(timeOutSeconds = 300 :: INTEGER) :: ()", "Wait until all indexes are online.",
		func(ctx context.Context, g shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
			return nil, awaitIndexes(ctx, g, "", args[0])
		})
	add("db.awaitIndex(indexName :: STRING, timeOutSeconds = 300 :: INTEGER) :: ()", "Wait until an index is online.",
		func(ctx context.Context, g shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
			if args[0].Kind() != graph.String || args[0].Str() == "" {
				return nil, noIndex()
			}
			return nil, awaitIndexes(ctx, g, args[0].Str(), args[1])
		})
	add("show.constraints(filter :: STRING, names :: LIST<STRING>) :: (id :: INTEGER, name :: STRING, type :: STRING, entityType :: STRING, "+
		"labelsOrTypes :: LIST<STRING>, properties :: LIST<STRING>, ownedIndex :: STRING?)",
		"List the constraints.", e.showConstraints)
	add("show.graphs(filter :: STRING, names :: LIST<STRING>) :: (name :: STRING, currentStatus :: STRING, default :: BOOLEAN)", "List the graphs.",
		func(_ context.Context, _ shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
			var rows [][]graph.Value
			for _, name := range e.store.Graphs() {
				if one := args[0].Str() == "DEFAULT" || args[0].Str() == "HOME"; one && name != DefaultGraph || !wanted(args, name) {
					continue
				}
				rows = append(rows, []graph.Value{text(name), text("online"), graph.BoolValue(name == DefaultGraph)})
			}
			return rows, nil
		})
	add("show.labels(filter :: STRING, names :: LIST<STRING>) :: (label :: STRING, nodes :: INTEGER, ttl :: DURATION?, ttlProperty :: STRING?)",
		"List the labels in use or with a TTL.", showLabels)
	add("show.types(filter :: STRING, names :: LIST<STRING>) :: (relationshipType :: STRING, relationships :: INTEGER, ttl :: DURATION?, ttlProperty :: STRING?)",
		"List the relationship types in use or with a TTL.", showTypes)
	add("show.functions(filter :: STRING, names :: LIST<STRING>) :: (name :: STRING, category :: STRING, description :: STRING, signature :: STRING, aggregating :: BOOLEAN)",
		"List the functions.", showFunctions)
	add("show.procedures(filter :: STRING, names :: LIST<STRING>) :: (name :: STRING, description :: STRING, mode :: STRING, worksOnSystem :: BOOLEAN, signature :: STRING)",
		"List the procedures.", e.showProcedures)
	add("show.transactions(filter :: STRING, names :: LIST<STRING>) :: (database :: STRING, transactionId :: STRING, currentQueryId :: STRING, "+
		"currentQuery :: STRING, startTime :: STRING, status :: STRING, elapsedTime :: DURATION)",
		"List the running transactions.", e.showTransactions)
	add("show.user(filter :: STRING, names :: LIST<STRING>) :: (user :: STRING, roles :: LIST<STRING>, home :: STRING)",
		"Show who asks.", showUser)
	add("show.terminated(filter :: STRING, names :: LIST<ANY>) :: (transactionId :: STRING, username :: STRING?, message :: STRING)",
		"End transactions.", e.terminate)
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

// wanted reports whether a list that was asked for by names has a name in it.
func wanted(args []graph.Value, name string) bool {
	names := args[1].List()
	return len(names) == 0 || slices.ContainsFunc(names, func(v graph.Value) bool { return v.Kind() == graph.String && v.Str() == name })
}

func entity(ix *graph.Index) (kind, name string) {
	if ix.Type != "" {
		return "RELATIONSHIP", ix.Type
	}
	return "NODE", ix.Label
}

func (e *Engine) showIndexes(_ context.Context, g shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
	var rows [][]graph.Value
	for _, ix := range g.Indexes() {
		if !ix.Indexed || len(ix.Props) == 0 || !wanted(args, ix.Name) || args[0].Str() != "" && args[0].Str() != "ALL" && args[0].Str() != "RANGE" {
			continue
		}
		kind, name := entity(&ix)
		state, percent, owner := "ONLINE", 100.0, graph.Value{}
		failure := graph.Value{}
		switch {
		case ix.Failure != "":
			state, percent, failure = "FAILED", 0, text(ix.Failure)
		case !ix.Online:
			state, percent = "POPULATING", 100*g.IndexProgress(ix.ID)
		}
		if ix.IsConstraint() {
			owner = text(ix.Name)
		}
		rows = append(rows, []graph.Value{
			graph.IntValue(int64(ix.ID)), text(ix.Name), text(state), graph.FloatValue(percent), text("RANGE"), text(kind),
			texts([]string{name}), texts(ix.Props), owner, failure,
		})
	}
	return byName(rows, 1), nil
}

func byName(rows [][]graph.Value, at int) [][]graph.Value {
	slices.SortFunc(rows, func(a, b []graph.Value) int { return cmp.Compare(a[at].Str(), b[at].Str()) })
	return rows
}

func (e *Engine) showConstraints(_ context.Context, g shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
	var rows [][]graph.Value
	for _, ix := range g.Indexes() {
		if !ix.IsConstraint() || !ix.Online || len(ix.Props) == 0 || !wanted(args, ix.Name) || !constraintIs(args[0].Str(), &ix) {
			continue
		}
		kind, name := entity(&ix)
		typ := kind + "_PROPERTY_EXISTENCE"
		owned := graph.Value{}
		switch {
		case ix.Unique && ix.Required:
			typ = kind + "_KEY"
		case ix.Unique && kind == "NODE":
			typ = "UNIQUENESS"
		case ix.Unique:
			typ = "RELATIONSHIP_UNIQUENESS"
		}
		if ix.Indexed {
			owned = text(ix.Name)
		}
		rows = append(rows, []graph.Value{
			graph.IntValue(int64(ix.ID)), text(ix.Name), text(typ), text(kind), texts([]string{name}), texts(ix.Props), owned,
		})
	}
	return byName(rows, 1), nil
}

// constraintIs says whether a constraint is of the kind that a filter names, such as NODE UNIQUENESS.
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

func showFunctions(_ context.Context, _ shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
	if args[0].Str() == "USER DEFINED" {
		return nil, nil
	}
	var rows [][]graph.Value
	known := check.Builtins()
	for _, f := range fn.All() {
		if _, ok := known[strings.ToLower(f.Name)]; ok && wanted(args, f.Name) {
			rows = append(rows, []graph.Value{text(f.Name), text(f.Category), text(f.Description), text(f.Signature), graph.BoolValue(false)})
		}
	}
	for _, f := range forms {
		if wanted(args, f.name) {
			rows = append(rows, []graph.Value{text(f.name), text(f.category), text(f.description), text(f.signature), graph.BoolValue(false)})
		}
	}
	for _, f := range fn.Aggregates() {
		if wanted(args, f.Name) {
			rows = append(rows, []graph.Value{text(f.Name), text("Aggregating"), text(f.Description), text(f.Signature), graph.BoolValue(true)})
		}
	}
	return byName(rows, 0), nil
}

// showUser gives the caller, and no row where nobody is asked who they are.
func showUser(ctx context.Context, _ shard.Graph, _ shard.Tx, _ []graph.Value) ([][]graph.Value, error) {
	id := access.Caller(ctx)
	if id == nil {
		return nil, nil
	}
	var roles []string
	if id.Every != access.None {
		roles = append(roles, id.Every.String())
	}
	for _, name := range slices.Sorted(maps.Keys(id.Graph)) {
		roles = append(roles, name+":"+id.Graph[name].String())
	}
	return [][]graph.Value{{text(id.Name), texts(roles), text(DefaultGraph)}}, nil
}

func (e *Engine) showProcedures(_ context.Context, _ shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
	var rows [][]graph.Value
	for _, p := range e.procs.builtin {
		if strings.HasPrefix(p.sig.Name, "show.") || !wanted(args, p.sig.Name) {
			continue
		}
		rows = append(rows, []graph.Value{
			text(p.sig.Name), text(p.description), text("READ"), graph.BoolValue(false), text(p.sig.String()),
		})
	}
	return byName(rows, 0), nil
}

func (e *Engine) showTransactions(ctx context.Context, _ shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
	var rows [][]graph.Value
	for _, q := range e.Running(ctx) {
		id := transactionID(q)
		if !wanted(args, id) {
			continue
		}
		elapsed := time.Since(q.Start)
		rows = append(rows, []graph.Value{
			text(q.Graph), text(id), text("query-" + id[len(q.Graph)+len("-transaction-"):]), text(q.Statement),
			text(q.Start.UTC().Format(time.RFC3339Nano)), text("Running"),
			graph.DurationValue(temporal.Duration{Seconds: int64(elapsed / time.Second), Nanos: int32(elapsed % time.Second)}),
		})
	}
	return rows, nil
}
