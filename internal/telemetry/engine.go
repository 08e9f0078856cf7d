package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// kindNames are the values of the label "outcome" for failed statements.
var kindNames = map[graph.Kind]string{
	graph.KindInternal: "internal", graph.KindInvalid: "invalid", graph.KindNotFound: "not_found", graph.KindExists: "exists",
	graph.KindBudget: "budget", graph.KindDeadline: "deadline", graph.KindUnavailable: "unavailable", graph.KindCorrupt: "corrupt",
	graph.KindConflict: "conflict", graph.KindDenied: "denied", graph.KindUnauthenticated: "unauthenticated", graph.KindBusy: "busy",
	graph.KindUnknown: "unknown",
}

// engine publishes the counters of a query engine.
type engine struct {
	e                                              *query.Engine
	statements, seconds, rows, plans, cached, live *prometheus.Desc
	transactions, open, conflicts, retries         *prometheus.Desc
	queued, refused, relieved                      *prometheus.Desc
	operatorRows, operatorBatches, spilled         *prometheus.Desc
	requests, held, limit                          *prometheus.Desc
}

func newEngine(e *query.Engine) *engine {
	d := prometheus.NewDesc
	return &engine{
		e:               e,
		statements:      d("hopgate_statements_total", "Completed statements and fetches, by outcome.", []string{"outcome"}, nil),
		seconds:         d("hopgate_statement_duration_seconds", "Time from a statement's arrival to its completion.", nil, nil),
		rows:            d("hopgate_rows_total", "Rows returned to clients.", nil, nil),
		plans:           d("hopgate_plan_cache_requests_total", "Look-ups in the plan cache, by result.", []string{"result"}, nil),
		cached:          d("hopgate_plan_cache_entries", "Plans in the cache.", nil, nil),
		live:            d("hopgate_statements_running", "Running statements.", nil, nil),
		transactions:    d("hopgate_transactions_total", "Completed explicit transactions, by outcome.", []string{"outcome"}, nil),
		open:            d("hopgate_transactions_open", "Open explicit transactions.", nil, nil),
		conflicts:       d("hopgate_transaction_conflicts_total", "Transactions that failed to commit because of a conflict.", nil, nil),
		queued:          d("hopgate_statements_queued", "Statements and fetches waiting for admission.", nil, nil),
		refused:         d("hopgate_statements_refused_total", "Statements and fetches refused admission, by reason.", []string{"reason"}, nil),
		relieved:        d("hopgate_statements_out_of_memory_total", "Statements and fetches ended because the process ran short of memory.", nil, nil),
		operatorRows:    d("hopgate_operator_rows_total", "Rows produced by operators, by kind.", []string{"operator"}, nil),
		operatorBatches: d("hopgate_operator_batches_total", "Batches produced by operators, by kind.", []string{"operator"}, nil),
		spilled:         d("hopgate_operator_spilled_bytes_total", "Bytes that operators have spilled to disk, by kind.", []string{"operator"}, nil),
		requests:        d("hopgate_shard_requests_total", "Requests of operators to shards, by kind.", []string{"request"}, nil),
		held:            d("hopgate_query_memory_bytes", "Bytes that the operators of all statements hold.", nil, nil),
		limit:           d("hopgate_query_memory_limit_bytes", "Limit on the bytes that the operators of all statements hold; 0 means none.", nil, nil),
		retries:         d("hopgate_transaction_retries_total", "Requests rerun after a conflict, or after the loss of their snapshot.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *engine) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.statements, c.seconds, c.rows, c.plans, c.cached, c.live, c.transactions, c.open, c.conflicts, c.retries, c.queued, c.refused, c.relieved, c.operatorRows, c.operatorBatches, c.spilled, c.requests, c.held, c.limit} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *engine) Collect(ch chan<- prometheus.Metric) {
	m := c.e.Metrics()
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	counter(c.statements, m.OK.Load(), "ok")
	for kind, name := range kindNames {
		counter(c.statements, m.Ended[kind].Load(), name)
	}
	buckets, total := map[float64]uint64{}, uint64(0)
	bounds := query.LatencyBounds()
	for i := range m.Latency {
		total += m.Latency[i].Load()
		if i < len(bounds) {
			buckets[bounds[i]] = total
		}
	}
	ch <- prometheus.MustNewConstHistogram(c.seconds, total, float64(m.LatencySum.Load())/1e9, buckets)
	counter(c.rows, m.Rows.Load())
	counter(c.plans, m.PlanHits.Load(), "hit")
	counter(c.plans, m.PlanMisses.Load(), "miss")
	ch <- prometheus.MustNewConstMetric(c.cached, prometheus.GaugeValue, float64(c.e.Plans()))
	load := c.e.Load()
	ch <- prometheus.MustNewConstMetric(c.live, prometheus.GaugeValue, float64(load.Running))
	ch <- prometheus.MustNewConstMetric(c.queued, prometheus.GaugeValue, float64(load.Queued))
	counter(c.relieved, m.Relieved.Load())
	counter(c.refused, load.Refused[query.QueueFull], "queue_full")
	counter(c.refused, load.Refused[query.QueueTimeout], "queue_timeout")
	counter(c.refused, load.Refused[query.RateLimit], "rate_limit")
	for name, t := range c.e.Totals().Operators() {
		counter(c.operatorRows, t.Rows.Load(), name)
		counter(c.operatorBatches, t.Batches.Load(), name)
		counter(c.spilled, t.Spilled.Load(), name)
	}
	for name, n := range c.e.Totals().Requests() {
		counter(c.requests, n, name)
	}
	held, limit := c.e.Held()
	ch <- prometheus.MustNewConstMetric(c.held, prometheus.GaugeValue, float64(held))
	ch <- prometheus.MustNewConstMetric(c.limit, prometheus.GaugeValue, float64(limit))
	ended, committed := m.TxEnded.Load(), m.TxCommitted.Load()
	counter(c.transactions, committed, "committed")
	counter(c.transactions, ended-min(ended, committed), "rolled_back")
	ch <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(m.TxBegun.Load()-ended))
	counter(c.conflicts, m.Conflicts.Load())
	counter(c.retries, m.Retries.Load())
}
