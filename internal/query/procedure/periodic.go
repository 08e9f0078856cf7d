package procedure

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// addPeriodic adds APOC's procedures that commit in batches.
func (r *Registry) addPeriodic() {
	r.addOwn("apoc.periodic.iterate(cypherIterate :: STRING, cypherAction :: STRING, config = {} :: MAP) :: (batches :: INTEGER, total :: INTEGER, "+
		"timeTaken :: INTEGER, committedOperations :: INTEGER, failedOperations :: INTEGER, failedBatches :: INTEGER, retries :: INTEGER, "+
		"errorMessages :: MAP, batch :: MAP, operations :: MAP, wasTerminated :: BOOLEAN, failedParams :: MAP, updateStatistics :: MAP)",
		"Run the second statement for the rows of the first, in a transaction for each batch of them.", iterate)
	r.addOwn("apoc.periodic.commit(statement :: STRING, params = {} :: MAP) :: (updates :: INTEGER, executions :: INTEGER, runtime :: INTEGER, batches :: INTEGER, "+
		"failedBatches :: INTEGER, batchErrors :: MAP, wasTerminated :: BOOLEAN)",
		"Run a statement, in a transaction each time, until it returns 0.", commit)
}

// addOwn adds a procedure that changes the graph in transactions of its own.
func (r *Registry) addOwn(signature, description string, f run) {
	r.addWrite(signature, description, func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
		if c.Transact == nil {
			return nil, fn.CallFailed("the procedure commits by itself, so it cannot run in an open transaction or in a subquery")
		}
		return f(ctx, c)
	})
	name, _, _ := strings.Cut(signature, "(")
	r.builtin[strings.ToLower(name)].sig.Own = true
}

// iteration is a call of apoc.periodic.iterate.
type iteration struct {
	c       *exec.Call
	action  string
	size    int64
	retries int64
	mode    string
	params  []graph.MapEntry
	report  int64 // rows of a failed batch to return; -1: none

	pending                                           []graph.Value // rows, as maps
	batches, failedBatches, total, failed, retriesRun int64
	errors                                            map[string]int64
	failedRows                                        []graph.MapEntry
	memory                                            runtime.ValueMemory // of the failed rows
}

const iterateName = "apoc.periodic.iterate"

func iterate(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	it := &iteration{c: c, size: 10_000, mode: "BATCH", report: -1, errors: map[string]int64{}, memory: c.Run.NewValueMemory("ProcedureCall")}
	defer it.memory.Acct.Release()
	if c.Args[0].Kind() != graph.String || c.Args[1].Kind() != graph.String {
		return nil, badArgument(iterateName, "cypherIterate and cypherAction", "strings", c.Args[0])
	}
	config, err := properties(iterateName, "config", c.Args[2])
	if err != nil {
		return nil, err
	}
	for _, e := range config.Map() {
		if err := it.option(e.Key, e.Value); err != nil {
			return nil, err
		}
	}
	began, before := time.Now(), c.Run.Counters
	pending := c.Run.NewValueMemory("ProcedureCall")
	defer pending.Acct.Release()
	in := exec.Inner{Text: withParams(c.Args[0].Str(), it.params), Params: paramsOf(it.params)}
	in.Row = func(columns []string, row []graph.Value) error {
		if it.action == "" {
			it.action = it.statement(columns)
		}
		m := make([]graph.MapEntry, len(row))
		for i, v := range row {
			m[i] = graph.MapEntry{Key: columns[i], Value: v}
			if err := pending.Add(ctx, v); err != nil {
				return err
			}
		}
		if it.pending = append(it.pending, graph.MapValue(m)); int64(len(it.pending)) < it.size {
			return nil
		}
		pending.Begin()
		return it.batch(ctx)
	}
	if err := query(ctx, c, in); err != nil {
		return nil, err
	}
	if err := it.batch(ctx); err != nil {
		return nil, err
	}
	return [][]graph.Value{it.result(time.Since(began), before)}, nil
}

// option sets one entry of the configuration.
func (it *iteration) option(key string, v graph.Value) error {
	whole := func(to *int64, least int64) error {
		n, ok := v.Whole()
		if !ok || n < least {
			return badArgument(iterateName, key, fmt.Sprintf("an integer from %d on", least), v)
		}
		*to = n
		return nil
	}
	wrong := func(want string) error { return badArgument(iterateName, key, want, v) }
	var cores int64
	switch key {
	case "batchSize":
		return whole(&it.size, 1)
	case "retries":
		return whole(&it.retries, 0)
	case "failedParams":
		return whole(&it.report, -1)
	case "concurrency":
		return whole(&cores, 1)
	case "parallel": // a graph has one writer, so batches follow one another
		if v.Kind() != graph.Bool {
			return wrong("a boolean")
		}
	case "batchMode":
		if it.mode = v.Str(); v.Kind() != graph.String || !slices.Contains([]string{"BATCH", "SINGLE", "BATCH_SINGLE"}, it.mode) {
			return wrong("BATCH, SINGLE or BATCH_SINGLE")
		}
	case "iterateList":
		if v.Kind() != graph.Bool {
			return wrong("a boolean")
		}
		if !v.Bool() {
			it.mode = "SINGLE"
		}
	case "params":
		if v.Kind() != graph.Map {
			return wrong("a map")
		}
		it.params = v.Map()
	case "planner": // there is one
	default:
		return fn.CallFailed("%s: there is no %s; there are batchMode, batchSize, concurrency, failedParams, iterateList, parallel, params, planner and retries",
			iterateName, key)
	}
	return nil
}

// statement returns the action with the columns of a row as variables.
func (it *iteration) statement(columns []string) string {
	text, of := it.c.Args[1].Str(), "$"
	if it.mode == "BATCH_SINGLE" {
		return text
	}
	if it.mode == "BATCH" {
		of = "_batch."
	}
	names := make([]string, 0, len(columns)+len(it.params))
	for _, c := range columns {
		names = append(names, of+tick(c)+" AS "+tick(c))
	}
	for _, e := range it.params {
		if !slices.Contains(columns, e.Key) {
			names = append(names, "$"+tick(e.Key)+" AS "+tick(e.Key))
		}
	}
	text = "WITH " + strings.Join(names, ", ") + " " + text
	if it.mode == "BATCH" {
		text = "UNWIND $_batch AS _batch " + text
	}
	return text
}

// statements returns what a transaction runs for rows.
func (it *iteration) statements(rows []graph.Value) []exec.Inner {
	inner := func(more ...graph.MapEntry) exec.Inner {
		return exec.Inner{Text: it.action, Params: paramsOf(append(slices.Clone(it.params), more...)), Writes: true, Row: func([]string, []graph.Value) error { return nil }}
	}
	if it.mode != "SINGLE" {
		return []exec.Inner{inner(graph.MapEntry{Key: "_batch", Value: graph.ListValue(rows)}, graph.MapEntry{Key: "_count", Value: graph.IntValue(int64(len(rows)))})}
	}
	out := make([]exec.Inner, len(rows))
	for i, r := range rows {
		out[i] = inner(r.Map()...)
	}
	return out
}

// batch runs the action for the pending rows, and again if it fails and may be repeated. Its error is counted, unless the call has ended.
func (it *iteration) batch(ctx context.Context) error {
	rows := it.pending
	if it.pending = nil; len(rows) == 0 {
		return nil
	}
	it.batches++
	it.total += int64(len(rows))
	var err error
	for try := int64(0); try <= it.retries; try++ {
		if try > 0 {
			it.retriesRun++
		}
		if err = it.c.Transact(ctx, int64(len(rows)), it.statements(rows)...); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return graph.DeadlineError(context.Cause(ctx))
		}
		if k := graph.AsError(err).Kind; k == graph.KindDenied || k == graph.KindInternal || k == graph.KindUnavailable {
			return err
		}
	}
	it.failedBatches++
	it.failed += int64(len(rows))
	it.errors[graph.AsError(err).Msg]++
	return it.keep(ctx, rows)
}

// keep keeps the rows of a failed batch for the result, as many as it reports.
func (it *iteration) keep(ctx context.Context, rows []graph.Value) error {
	if it.report < 0 {
		return nil
	}
	rows = slices.Clone(rows[:min(int64(len(rows)), it.report)])
	it.failedRows = append(it.failedRows, graph.MapEntry{Key: strconv.FormatInt(it.batches, 10), Value: graph.ListValue(rows)})
	for _, r := range rows {
		for _, e := range r.Map() {
			if err := it.memory.Grow(ctx, memory.CellSize+len(e.Key)); err != nil {
				return err
			}
			if err := it.memory.Add(ctx, e.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func entryOf(key string, n int64) graph.MapEntry {
	return graph.MapEntry{Key: key, Value: graph.IntValue(n)}
}

// counts is a map of how many there were, were committed and failed, with the messages of errors.
func counts(total, failed int64, errors graph.Value) graph.Value {
	return graph.MapValue([]graph.MapEntry{entryOf("total", total), entryOf("failed", failed), entryOf("committed", total-failed), {Key: "errors", Value: errors}})
}

func countsOf(errors map[string]int64) graph.Value {
	m := make([]graph.MapEntry, 0, len(errors))
	for msg, n := range errors {
		m = append(m, entryOf(msg, n))
	}
	slices.SortFunc(m, func(a, b graph.MapEntry) int { return strings.Compare(a.Key, b.Key) })
	return graph.MapValue(m)
}

func (it *iteration) result(took time.Duration, before exec.Counters) []graph.Value {
	errors, n, now := countsOf(it.errors), graph.IntValue, it.c.Run.Counters
	return []graph.Value{
		n(it.batches), n(it.total), n(int64(took.Seconds())), n(it.total - it.failed), n(it.failed), n(it.failedBatches), n(it.retriesRun), errors,
		counts(it.batches, it.failedBatches, errors), counts(it.total, it.failed, errors), graph.BoolValue(false), graph.MapValue(it.failedRows),
		graph.MapValue([]graph.MapEntry{
			entryOf("nodesCreated", now.NodesCreated-before.NodesCreated), entryOf("nodesDeleted", now.NodesDeleted-before.NodesDeleted),
			entryOf("relationshipsCreated", now.RelationshipsCreated-before.RelationshipsCreated),
			entryOf("relationshipsDeleted", now.RelationshipsDeleted-before.RelationshipsDeleted),
			entryOf("propertiesSet", now.PropertiesSet-before.PropertiesSet), entryOf("labelsAdded", now.LabelsAdded-before.LabelsAdded),
			entryOf("labelsRemoved", now.LabelsRemoved-before.LabelsRemoved),
		}),
	}
}

func commit(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	const name = "apoc.periodic.commit"
	if c.Args[0].Kind() != graph.String || !strings.Contains(strings.ToLower(c.Args[0].Str()), "limit") {
		return nil, badArgument(name, "statement", "a statement with LIMIT, which returns how much it has changed", c.Args[0])
	}
	params, err := properties(name, "params", c.Args[1])
	if err != nil {
		return nil, err
	}
	began, updates, executions := time.Now(), int64(0), int64(0)
	for last := int64(1); last > 0; executions++ {
		in := exec.Inner{Text: withParams(c.Args[0].Str(), params.Map()), Params: paramsOf(params.Map()), Writes: true}
		last = 0
		in.Row = func(_ []string, row []graph.Value) error {
			n, ok := row[0].Whole()
			if !ok {
				return fn.CallFailed("%s: the statement must return a number, not %s", name, notation.Describe(row[0]))
			}
			last = n
			return nil
		}
		if err := c.Transact(ctx, 1, in); err != nil {
			return nil, err
		}
		updates += max(last, 0)
	}
	n := graph.IntValue
	return [][]graph.Value{{n(updates), n(executions), n(int64(time.Since(began).Seconds())), n(executions), n(0), graph.MapValue(nil), graph.BoolValue(false)}}, nil
}
