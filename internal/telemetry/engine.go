package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/query/watch"
)

// kindNames are the values of the label "outcome" for failed statements.
var kindNames = map[graph.Kind]string{
	graph.KindInternal: "internal", graph.KindInvalid: "invalid", graph.KindNotFound: "not_found", graph.KindExists: "exists",
	graph.KindBudget: "budget", graph.KindDeadline: "deadline", graph.KindUnavailable: "unavailable", graph.KindCorrupt: "corrupt",
	graph.KindConflict: "conflict", graph.KindDenied: "denied", graph.KindUnauthenticated: "unauthenticated", graph.KindBusy: "busy",
	graph.KindUnknown: "unknown", graph.KindCost: "cost",
}

// engine publishes the counters of a query engine.
type engine struct {
	e                                                   *query.Engine
	operationSeconds, operationErrors, operationsBroken *prometheus.Desc

	statements, seconds, rows, plans, answers, answerBytes, evicted, shared, unmodified, cached, live *prometheus.Desc
	transactions, open, conflicts, retries                                                            *prometheus.Desc
	queued, refused, relieved                                                                         *prometheus.Desc
	operatorRows, operatorBatches, spilled                                                            *prometheus.Desc
	requests, held, limit                                                                             *prometheus.Desc
	visits, bytes, cpu                                                                                *prometheus.Desc
	quotaUsed, quotaLimit, quotaRefused                                                               *prometheus.Desc
}

func newEngine(e *query.Engine) *engine {
	d := prometheus.NewDesc
	return &engine{
		e:                e,
		statements:       d("hopgate_statements_total", "Completed statements and fetches, by outcome.", []string{"outcome"}, nil),
		operationSeconds: d("hopgate_operation_duration_seconds", "Time from the arrival of a call of a trusted operation to its completion.", []string{"graph", "operation"}, nil),
		operationErrors:  d("hopgate_operation_errors_total", "Calls of a trusted operation that failed.", []string{"graph", "operation"}, nil),
		operationsBroken: d("hopgate_operations_broken", "Trusted operations that cannot be planned, name a label, type or property that the graph lacks, or have lost an index.", []string{"graph"}, nil),
		seconds:          d("hopgate_statement_duration_seconds", "Time from a statement's arrival to its completion.", nil, nil),
		rows:             d("hopgate_rows_total", "Rows returned to clients.", nil, nil),
		plans:            d("hopgate_plan_cache_requests_total", "Look-ups in the plan cache, by result.", []string{"result"}, nil),
		answers:          d("hopgate_response_cache_requests_total", "Look-ups in the cache of answers, by result.", []string{"result"}, nil),
		answerBytes:      d("hopgate_response_cache_bytes", "Bytes of the cached answers.", nil, nil),
		evicted:          d("hopgate_response_cache_evictions_total", "Answers that left the cache because it was full.", nil, nil),
		shared:           d("hopgate_requests_shared_total", "Reads that got the answer of an identical one that ran at the same time.", nil, nil),
		unmodified:       d("hopgate_requests_unmodified_total", "Reads that were not run because the client had the answer.", nil, nil),
		cached:           d("hopgate_plan_cache_entries", "Plans in the cache.", nil, nil),
		live:             d("hopgate_statements_running", "Running statements.", nil, nil),
		transactions:     d("hopgate_transactions_total", "Completed explicit transactions, by outcome.", []string{"outcome"}, nil),
		open:             d("hopgate_transactions_open", "Open explicit transactions.", nil, nil),
		conflicts:        d("hopgate_transaction_conflicts_total", "Transactions that failed to commit because of a conflict.", nil, nil),
		queued:           d("hopgate_statements_queued", "Statements and fetches waiting for admission.", nil, nil),
		refused:          d("hopgate_statements_refused_total", "Statements and fetches refused admission, by reason.", []string{"reason"}, nil),
		relieved:         d("hopgate_statements_out_of_memory_total", "Statements and fetches ended because the process ran short of memory.", nil, nil),
		operatorRows:     d("hopgate_operator_rows_total", "Rows produced by operators, by kind.", []string{"operator"}, nil),
		operatorBatches:  d("hopgate_operator_batches_total", "Batches produced by operators, by kind.", []string{"operator"}, nil),
		spilled:          d("hopgate_operator_spilled_bytes_total", "Bytes that operators have spilled to disk, by kind.", []string{"operator"}, nil),
		requests:         d("hopgate_shard_requests_total", "Requests of operators to shards, by kind.", []string{"request"}, nil),
		held:             d("hopgate_query_memory_bytes", "Bytes that the operators of all statements hold.", nil, nil),
		limit:            d("hopgate_query_memory_limit_bytes", "Limit on the bytes that the operators of all statements hold; 0 means none.", nil, nil),
		visits:           d("hopgate_request_visits_total", "Vertices, edges and index entries that requests have read, and changes that they have made, by kind of request.", []string{"kind"}, nil),
		bytes:            d("hopgate_request_bytes_total", "Bytes of results that requests have sent, before compression, by kind of request.", []string{"kind"}, nil),
		cpu:              d("hopgate_request_cpu_seconds_total", "Time that requests have spent on cores, with what storage took to answer, by kind of request.", []string{"kind"}, nil),
		quotaUsed:        d("hopgate_quota_used", "What requests of this process have taken in the present window of a quota, all accounts together: units of cost, seconds of CPU, or requests.", []string{"graph", "quota"}, nil),
		quotaLimit:       d("hopgate_quota_limit", "What each account of a quota may take in a window: units of cost, seconds of CPU, or requests.", []string{"graph", "quota"}, nil),
		quotaRefused:     d("hopgate_quota_refused_total", "Requests that a quota has refused, or in the mode measure would have refused if it were enforced.", []string{"graph", "quota", "mode"}, nil),
		retries:          d("hopgate_transaction_retries_total", "Requests rerun after a conflict, or after the loss of their snapshot.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *engine) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.statements, c.seconds, c.operationSeconds, c.operationErrors, c.operationsBroken, c.rows, c.plans, c.answers, c.answerBytes, c.evicted, c.shared, c.unmodified, c.cached, c.live, c.transactions, c.open, c.conflicts, c.retries, c.queued, c.refused, c.relieved, c.operatorRows, c.operatorBatches, c.spilled, c.requests, c.held, c.limit, c.visits, c.bytes, c.cpu, c.quotaUsed, c.quotaLimit, c.quotaRefused} {
		ch <- d
	}
}

// histogram sends the latencies of requests.
func histogram(ch chan<- prometheus.Metric, d *prometheus.Desc, l *trusted.Latency, labels ...string) {
	buckets, total := map[float64]uint64{}, uint64(0)
	bounds := trusted.LatencyBounds()
	for i := range l.Classes {
		total += l.Classes[i].Load()
		if i < len(bounds) {
			buckets[bounds[i]] = total
		}
	}
	ch <- prometheus.MustNewConstHistogram(d, total, float64(l.Sum.Load())/1e9, buckets, labels...)
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
	histogram(ch, c.seconds, &m.Latency)
	for _, o := range c.e.Operations.Called() {
		histogram(ch, c.operationSeconds, &o.Latency, o.Graph, o.Name)
		counter(c.operationErrors, o.Errors.Load(), o.Graph, o.Name)
	}
	for graphName, n := range c.e.Operations.Broken() {
		ch <- prometheus.MustNewConstMetric(c.operationsBroken, prometheus.GaugeValue, float64(n), graphName)
	}
	counter(c.rows, m.Rows.Load())
	counter(c.plans, m.PlanHits.Load(), "hit")
	counter(c.plans, m.PlanMisses.Load(), "miss")
	reused := c.e.Reused
	counter(c.answers, reused.Hits.Load(), "hit")
	counter(c.answers, reused.Misses.Load(), "miss")
	ch <- prometheus.MustNewConstMetric(c.answerBytes, prometheus.GaugeValue, float64(reused.Bytes.Load()))
	counter(c.evicted, reused.Evictions.Load())
	counter(c.shared, reused.Shared.Load())
	counter(c.unmodified, reused.Unmodified.Load())
	ch <- prometheus.MustNewConstMetric(c.cached, prometheus.GaugeValue, float64(c.e.Plans()))
	load := c.e.Load()
	ch <- prometheus.MustNewConstMetric(c.live, prometheus.GaugeValue, float64(load.Running))
	ch <- prometheus.MustNewConstMetric(c.queued, prometheus.GaugeValue, float64(load.Queued))
	counter(c.relieved, m.Relieved.Load())
	counter(c.refused, load.Refused[admission.QueueFull], "queue_full")
	counter(c.refused, load.Refused[admission.QueueTimeout], "queue_timeout")
	counter(c.refused, load.Refused[admission.RateLimit], "rate_limit")
	for name, t := range c.e.Totals().Operators() {
		counter(c.operatorRows, t.Rows.Load(), name)
		counter(c.operatorBatches, t.Batches.Load(), name)
		counter(c.spilled, t.Spilled.Load(), name)
	}
	for name, n := range c.e.Totals().Requests() {
		counter(c.requests, n, name)
	}
	for i, kind := range watch.TookKinds {
		t := &m.Took[i]
		counter(c.visits, t.Visits.Load(), string(kind))
		counter(c.bytes, t.Bytes.Load(), string(kind))
		ch <- prometheus.MustNewConstMetric(c.cpu, prometheus.CounterValue, float64(t.CPU.Load())/1e9, string(kind))
	}
	for _, q := range c.e.Quotas.Metrics() {
		ch <- prometheus.MustNewConstMetric(c.quotaUsed, prometheus.GaugeValue, q.Used, q.Graph, q.Quota.Name)
		ch <- prometheus.MustNewConstMetric(c.quotaLimit, prometheus.GaugeValue, q.Quota.Amount, q.Graph, q.Quota.Name)
		counter(c.quotaRefused, q.Refused, q.Graph, q.Quota.Name, string(q.Quota.Mode))
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
