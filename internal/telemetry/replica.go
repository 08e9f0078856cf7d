package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/replica"
)

// Replicas is a source of the status of replicas.
type Replicas interface {
	// Replicas returns the status of each replica of the process, by its group, which has the number of the shard.
	Replicas() map[uint32]replica.GroupStatus
}

// replicaCollector publishes the status of replicas.
type replicaCollector struct {
	s       Replicas
	metrics []replicaMetric
	lag     [2]*prometheus.Desc // entries, bytes
	version *prometheus.Desc    // of the cluster, by the replica of shard 0
}

// replicaMetric is one figure of a replica.
type replicaMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(s *replica.GroupStatus) float64
}

func newReplicas(s Replicas) *replicaCollector {
	c := &replicaCollector{s: s}
	add := func(kind prometheus.ValueType, name, help string, get func(s *replica.GroupStatus) float64) {
		c.metrics = append(c.metrics, replicaMetric{prometheus.NewDesc("hopgate_replica_"+name, help, []string{"shard"}, nil), kind, get})
	}
	is := func(name, help string, get func(s *replica.GroupStatus) bool) {
		add(prometheus.GaugeValue, name, help+": 1 or 0.", func(s *replica.GroupStatus) float64 {
			if get(s) {
				return 1
			}
			return 0
		})
	}
	is("leads", "Whether the replica leads its group", func(s *replica.GroupStatus) bool { return s.Leads })
	is("stopped", "Whether a fault has stopped the replica until its process restarts", func(s *replica.GroupStatus) bool { return s.Fault != nil })
	is("blocked", "Whether the log of the replica cannot be written now, as on a full disk", func(s *replica.GroupStatus) bool { return s.Blocked != nil })
	is("damaged", "Whether a file of the replica fails its checks, until it is seeded", func(s *replica.GroupStatus) bool { return s.Damage != nil })
	add(prometheus.GaugeValue, "term", "Raft term of the group.", func(s *replica.GroupStatus) float64 { return float64(s.Term) })
	add(prometheus.CounterValue, "committed_entries_total", "Index of the last committed log entry.", func(s *replica.GroupStatus) float64 { return float64(s.Commit) })
	add(prometheus.CounterValue, "applied_entries_total", "Index of the last log entry that the replica has applied.", func(s *replica.GroupStatus) float64 { return float64(s.Applied) })
	add(prometheus.GaugeValue, "log_entries", "Entries in the log of the replica.", func(s *replica.GroupStatus) float64 { return float64(s.LastIndex + 1 - s.FirstIndex) })
	add(prometheus.GaugeValue, "log_bytes", "Approximate bytes of the entries in the replica's log.", func(s *replica.GroupStatus) float64 { return float64(s.LogBytes) })
	add(prometheus.CounterValue, "seeds_total", "Times the replica was seeded from another one.", func(s *replica.GroupStatus) float64 { return float64(s.Seeds) })
	add(prometheus.GaugeValue, "seed_bytes", "Size of the state that the replica is being seeded with, 0 if it is not.", func(s *replica.GroupStatus) float64 { return float64(s.SeedBytes) })
	add(prometheus.GaugeValue, "seeded_bytes", "Bytes of the seed received.", func(s *replica.GroupStatus) float64 { return float64(s.SeededBytes) })
	add(prometheus.GaugeValue, "pending_proposals", "Proposals not yet applied.", func(s *replica.GroupStatus) float64 { return float64(s.Proposals) })
	add(prometheus.CounterValue, "elections_won_total", "Times the replica became the leader of its group.", func(s *replica.GroupStatus) float64 { return float64(s.Wins) })
	for i, what := range []string{"entries", "bytes"} {
		c.lag[i] = prometheus.NewDesc("hopgate_replica_lag_"+what, "Log "+what+" of the leader that the replica of another process lacks; the leader has it.", []string{"shard", "process"}, nil)
	}
	c.version = prometheus.NewDesc("hopgate_cluster_version", "Cluster version in force, by the replica of shard 0.", nil, nil)
	return c
}

// Describe implements prometheus.Collector.
func (c *replicaCollector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		out <- m.desc
	}
	out <- c.lag[0]
	out <- c.lag[1]
	out <- c.version
}

// Collect implements prometheus.Collector.
func (c *replicaCollector) Collect(out chan<- prometheus.Metric) {
	for group, s := range c.s.Replicas() {
		shard := strconv.FormatUint(uint64(group), 10)
		for _, m := range c.metrics {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.get(&s), shard)
		}
		if group == 0 {
			out <- prometheus.MustNewConstMetric(c.version, prometheus.GaugeValue, float64(max(s.Members.Version(), 1)))
		}
		for _, l := range s.Lags {
			process := strconv.Itoa(l.Process)
			out <- prometheus.MustNewConstMetric(c.lag[0], prometheus.GaugeValue, float64(l.Entries), shard, process)
			out <- prometheus.MustNewConstMetric(c.lag[1], prometheus.GaugeValue, float64(l.Bytes), shard, process)
		}
	}
}
