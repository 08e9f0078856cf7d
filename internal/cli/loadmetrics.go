package cli

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/loader"
)

// loadMetrics publishes the progress of a load.
type loadMetrics struct {
	plan                                              *loader.Plan
	rows, rejects, vertices, edges, done, size, stage *prometheus.Desc
	flight, window, left                              *prometheus.Desc
}

func newLoadMetrics(p *loader.Plan) *loadMetrics {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("hopgate_loader_"+name, help, labels, nil)
	}
	return &loadMetrics{
		plan:     p,
		rows:     d("rows_total", "Rows read, including refused ones.", "input"),
		rejects:  d("rejects_total", "Rows refused.", "input"),
		vertices: d("vertices_total", "Rows applied to vertices.", "input"),
		edges:    d("edges_total", "Rows applied to edges.", "input"),
		done:     d("done_bytes_total", "Stored bytes of the inputs that have been loaded.", "input"),
		size:     d("input_bytes", "Stored bytes of the inputs, counted once per pass; 0 if unknown.", "input"),
		stage:    d("stage_seconds_total", "Time spent in a stage, by all its goroutines.", "stage"),
		flight:   d("flight_bytes", "Bytes read and not yet acknowledged."),
		window:   d("window_bytes", "Limit of the bytes read and not yet acknowledged."),
		left:     d("left_seconds", "Estimated remaining time; -1 if unknown."),
	}
}

// Describe implements prometheus.Collector.
func (c *loadMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.rows, c.rejects, c.vertices, c.edges, c.done, c.size, c.stage, c.flight, c.window, c.left} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *loadMetrics) Collect(ch chan<- prometheus.Metric) {
	p := c.plan.Progress()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for i := range p.Inputs {
		in := &p.Inputs[i]
		for d, n := range map[*prometheus.Desc]int64{
			c.rows: in.Rows, c.rejects: in.Rejects, c.vertices: in.Vertices, c.edges: in.Edges, c.done: in.Done,
		} {
			send(d, prometheus.CounterValue, float64(n), in.Path)
		}
		send(c.size, prometheus.GaugeValue, float64(in.Bytes), in.Path)
	}
	for name, s := range map[string]float64{
		"read": p.Stages.Read, "parse": p.Stages.Parse, "resolve": p.Stages.Resolve, "write": p.Stages.Write, "commit": p.Stages.Commit,
	} {
		send(c.stage, prometheus.CounterValue, s, name)
	}
	send(c.flight, prometheus.GaugeValue, float64(p.InFlight))
	send(c.window, prometheus.GaugeValue, float64(p.Window))
	left := -1.0
	if p.Left >= 0 {
		left = p.Left.Seconds()
	}
	send(c.left, prometheus.GaugeValue, left)
}
