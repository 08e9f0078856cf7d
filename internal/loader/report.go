package loader

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/shard"
)

// Report summarises a load, as --report writes it.
type Report struct {
	Totals
	Seconds   float64 `json:"seconds"`
	PeakBytes int64   `json:"peakBytes"`
	// VertexCounts and EdgeCounts say what the rows of the whole load did, with those of earlier runs; dry runs leave them out.
	VertexCounts shard.RowCounts `json:"vertexCounts,omitzero"`
	EdgeCounts   shard.RowCounts `json:"edgeCounts,omitzero"`
	// GCShare is the share of this process's CPU time spent in garbage collection, as the runtime estimates it.
	GCShare float64       `json:"gcShare"`
	Stages  Stages        `json:"stages"`
	Inputs  []InputReport `json:"inputs"`
	// Resumed means that an earlier run loaded a part, which counts in VertexCounts and EdgeCounts alone; DryRun means that nothing was written.
	Resumed   bool  `json:"resumed,omitempty"`
	DryRun    bool  `json:"dryRun,omitempty"`
	Dangling  int64 `json:"dangling,omitempty"`  // dry runs: edges with a missing end
	DiskBytes int64 `json:"diskBytes,omitempty"` // dry runs: estimated size on disk
}

// Totals count rows read, vertices and edges written, and rows refused.
type Totals struct {
	Rows     int64 `json:"rows"`
	Vertices int64 `json:"vertices"`
	Edges    int64 `json:"edges"`
	Rejects  int64 `json:"rejects"`
}

// Stages are the seconds spent in each stage. Stages overlap, and several parsers run at once.
type Stages struct {
	Read    float64 `json:"read"`    // reading, decompressing and splitting inputs
	Parse   float64 `json:"parse"`   // parsing them into batches
	Resolve float64 `json:"resolve"` // key look-ups on the server
	Write   float64 `json:"write"`   // sending batches
	Commit  float64 `json:"commit"`  // making them durable on the server
}

// stage is an index into stageTimes.
type stage int

const (
	stageRead stage = iota
	stageParse
	stageResolve
	stageWrite
	stageCommit
	stages
)

// stageTimes holds nanoseconds by stage.
type stageTimes [stages]int64

func (t *stageTimes) seconds() Stages {
	s := func(i stage) float64 { return time.Duration(t[i]).Round(time.Microsecond).Seconds() }
	return Stages{Read: s(stageRead), Parse: s(stageParse), Resolve: s(stageResolve), Write: s(stageWrite), Commit: s(stageCommit)}
}

// InputReport is the part of a report about one input.
type InputReport struct {
	Path string `json:"path"`
	Totals
	Seconds   float64 `json:"seconds"`   // from its first batch to its last
	PeakBytes int64   `json:"peakBytes"` // of the whole load
	Stages    Stages  `json:"stages"`
}

// JSON encodes the report as one object.
func (r *Report) JSON() ([]byte, error) { return json.MarshalIndent(r, "", "  ") }

// counts are updated by all stages.
type counts struct {
	rows, rejects atomic.Int64
	// began, sent and done are positions in the stored bytes of all steps, one after another: where the run began, and how far it has sent
	// batches and received acknowledgements.
	began, sent, done atomic.Int64
	step              atomic.Int64 // the step being acknowledged
	resumed           bool

	before shard.LoadCounts // of earlier runs

	mu     sync.Mutex
	plan   *Plan
	inputs map[*input]*inputCounts
	load   shard.LoadCounts // as the server reports them
}

type inputCounts struct {
	Totals
	times       stageTimes
	first, last time.Time
}

func (c *counts) init(p *Plan) {
	c.plan, c.inputs = p, map[*input]*inputCounts{}
	for _, in := range p.inputs {
		c.inputs[in] = &inputCounts{}
	}
}

func (c *counts) of(step int, f func(*inputCounts)) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.inputs[c.plan.steps[step].in]
	if in.first.IsZero() {
		in.first = now
	}
	in.last = now
	f(in)
}

// spent adds d to a stage of an input.
func (c *counts) spent(step int, s stage, d time.Duration) {
	c.of(step, func(in *inputCounts) { in.times[s] += int64(d) })
}

func (c *counts) addRows(step int, n int64) {
	c.rows.Add(n)
	c.of(step, func(in *inputCounts) { in.Rows += n })
}

func (c *counts) reject(step int) {
	c.rejects.Add(1)
	c.of(step, func(in *inputCounts) { in.Rejects++ })
}

// add counts what the server reports.
func (c *counts) add(of shard.LoadCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load.Add(of)
}

// applied counts the rows of a batch for its input: those sent and not refused.
func (c *counts) applied(step int, vertices, edges int64) {
	c.of(step, func(in *inputCounts) {
		in.Vertices += vertices
		in.Edges += edges
	})
}

// totals returns the totals of the run so far. The caller holds c.mu.
func (c *counts) totals() Totals {
	return Totals{
		Rows: c.rows.Load(), Vertices: int64(c.load.Vertices.Applied()), Edges: int64(c.load.Edges.Applied()), Rejects: c.rejects.Load(),
	}
}

// report returns the report of the run so far.
func (r *run) report() *Report {
	c := &r.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.before
	all.Add(c.load)
	rep := &Report{
		Totals: c.totals(), Seconds: time.Since(r.start).Seconds(), PeakBytes: peakBytes(), GCShare: gcShare(), Resumed: c.resumed,
		VertexCounts: all.Vertices, EdgeCounts: all.Edges,
	}
	var times stageTimes
	for _, in := range r.plan.inputs {
		n := c.inputs[in]
		for i, t := range n.times {
			times[i] += t
		}
		rep.Inputs = append(rep.Inputs, InputReport{
			Path: in.Name, Totals: n.Totals, Seconds: n.last.Sub(n.first).Seconds(), PeakBytes: rep.PeakBytes, Stages: n.times.seconds(),
		})
	}
	rep.Stages = times.seconds()
	return rep
}

// gcShare returns the share of CPU time spent in garbage collection, up to the last collection.
func gcShare() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(s)
	gc, user := s[0].Value.Float64(), s[1].Value.Float64()
	return gc / max(gc+user, 1e-9)
}

// peakBytes returns the peak resident memory of the process.
func peakBytes() int64 {
	if f, err := os.Open("/proc/self/status"); err == nil {
		defer func() { _ = f.Close() }()
		for s := bufio.NewScanner(f); s.Scan(); {
			if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
				if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
					return n << 10
				}
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
