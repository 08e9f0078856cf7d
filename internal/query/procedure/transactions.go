package procedure

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// addTransactions adds what shows and changes transactions.
func (r *Registry) addTransactions() {
	r.add("show.transactions(filter :: STRING, names :: LIST<ANY>) :: (database :: STRING, transactionId :: STRING, currentQueryId :: STRING, "+
		"+outerTransactionId :: STRING, connectionId :: STRING, clientAddress :: STRING, username :: STRING, +metaData :: MAP, "+
		"currentQuery :: STRING, +parameters :: MAP, +planner :: STRING, +runtime :: STRING, +indexes :: LIST<MAP>, startTime :: STRING, "+
		"+currentQueryStartTime :: STRING, +protocol :: STRING, +requestUri :: STRING?, status :: STRING, +currentQueryStatus :: STRING, "+
		"+statusDetails :: STRING, +resourceInformation :: MAP, +activeLockCount :: INTEGER, +currentQueryActiveLockCount :: INTEGER, "+
		"elapsedTime :: DURATION, +cpuTime :: DURATION?, +waitTime :: DURATION?, +idleTime :: DURATION?, +currentQueryElapsedTime :: DURATION, "+
		"+currentQueryCpuTime :: DURATION?, +currentQueryWaitTime :: DURATION?, +currentQueryIdleTime :: DURATION?, "+
		"+currentQueryAllocatedBytes :: INTEGER, +allocatedDirectBytes :: INTEGER?, +estimatedUsedHeapMemory :: INTEGER, "+
		"+pageHits :: INTEGER?, +pageFaults :: INTEGER?, +currentQueryPageHits :: INTEGER?, +currentQueryPageFaults :: INTEGER?, "+
		"+initializationStackTrace :: STRING)", "List the running transactions.", r.showTransactions)
	r.add("show.terminated(filter :: STRING, names :: LIST<ANY>) :: (transactionId :: STRING, username :: STRING?, message :: STRING)",
		"End transactions.", r.terminate)
	r.add("tx.getMetaData() :: (metadata :: MAP)", "What the client has said of the transaction.",
		func(ctx context.Context, _ *exec.Call) ([][]graph.Value, error) {
			m := r.host.Metadata(ctx)
			if m.IsNull() {
				m = graph.MapValue(nil)
			}
			return [][]graph.Value{{m}}, nil
		})
	r.add("tx.setMetaData(data :: MAP) :: ()", "Say something of the transaction, for SHOW TRANSACTIONS and the logs.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			if c.Args[0].Kind() != graph.Map {
				return nil, graph.TypeError("InvalidArgumentType", "data must be a map, not %s", notation.Describe(c.Args[0]))
			}
			r.host.SetMetadata(ctx, c.Args[0].Clone())
			return nil, nil
		})
}

func (r *Registry) showTransactions(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	var rows [][]graph.Value
	now := time.Now()
	since := func(t time.Time) graph.Value { return graph.DurationValue(temporal.DurationOf(now.Sub(t))) }
	at := func(t time.Time) graph.Value { return text(t.UTC().Format(time.RFC3339Nano)) }
	zero, empty := graph.IntValue(0), text("")
	for _, t := range r.host.Transactions(ctx) {
		if !listed(c, t.ID) {
			continue
		}
		meta := t.Metadata
		if meta.IsNull() {
			meta = graph.MapValue(nil)
		}
		query, status := empty, empty
		if t.Statement != "" {
			query, status = text("query-"+t.ID[strings.LastIndexByte(t.ID, '-')+1:]), text("running")
		}
		rows = append(rows, []graph.Value{
			text(t.Graph), text(t.ID), query, empty, text(t.Connection), text(t.Address), text(t.Caller), meta,
			text(t.Statement), graph.MapValue(nil), text("COST"), text("PIPELINED"), graph.ListValue(nil), at(t.Start),
			at(t.StatementStart), text(t.Proto),
			{},
			text("Running"), status,
			empty, graph.MapValue(nil), zero, zero,
			since(t.Start),
			{},
			{},
			{},
			since(t.StatementStart),
			{},
			{},
			{},
			graph.IntValue(t.Bytes),
			{},
			graph.IntValue(t.Bytes),
			{},
			{},
			{},
			{},
			empty,
		})
	}
	return rows, nil
}

// terminate ends the transactions with these ids, each a string or a list of strings, and returns the outcome of each.
func (r *Registry) terminate(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	var rows [][]graph.Value
	for ids := c.Args[1].List(); len(ids) > 0; {
		id := ids[0]
		ids = ids[1:]
		switch id.Kind() {
		case graph.List:
			ids = append(slices.Clone(id.List()), ids...)
			continue
		case graph.String:
		default:
			return nil, graph.TypeError("InvalidArgumentType", "a transaction id must be a string, not %s", notation.Describe(id))
		}
		msg, username := "Transaction not found.", graph.Value{}
		if caller, ok := r.host.Terminate(ctx, id.Str()); ok {
			msg, username = "Transaction terminated.", text(caller)
		}
		rows = append(rows, []graph.Value{id, username, text(msg)})
	}
	return rows, nil
}
