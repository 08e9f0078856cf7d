package loader

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/loader/text"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/size"
)

const (
	// chunkBytes is the text in a batch. It must not depend on anything that may change between the runs of a load; see record.Splitter.
	chunkBytes = 1 << 20
	// unfoldBytes replaces chunkBytes if a row may become many.
	unfoldBytes = 1 << 16
	// maxRecord bounds the length of a record, because its batch must fit into a message.
	maxRecord = 32 << 20
	// maxWindow bounds the bytes sent ahead of acknowledgements. The server commits together what waits, and large commits make
	// fewer records to compact.
	maxWindow = 512 << 20
	// parseMemory is what parsing and sending take besides.
	parseMemory = 128 << 20
)

// Options configure the run of a load.
type Options struct {
	Graph   string
	Restart bool
	// OnDuplicate decides about repeated keys of vertices whose mapping does not.
	OnDuplicate shard.OnDuplicate
	// Unlogged keeps what the load changes out of the commit log.
	Unlogged bool
	// Workers is the number of parsers; default 0, one for each processor.
	Workers int
	// Memory bounds, in bytes, the text and columns that have been read and not yet acknowledged; default 512 MiB.
	Memory int64
	// MaxRejects ends the load once more rows than this are refused.
	MaxRejects Budget
	// RejectsDir is the directory for refused rows; "" discards them.
	RejectsDir string
	// OnReject, if not nil, is called for each refused row.
	OnReject func(Reject)
	// Progress, if not nil, is called about once a second.
	Progress func(Progress)
}

// Budget is a number of rows, or a share of all rows.
type Budget struct {
	Rows  int64
	Share float64 // a fraction of 1; used if positive
}

// exceeded reports whether rejects exceed the budget for that many rows.
func (b Budget) exceeded(rejects, rows int64) bool {
	if b.Share > 0 {
		return float64(rejects) > b.Share*float64(rows)
	}
	return rejects > b.Rows
}

// TooManyRejectsError ends a load that refused more rows than its budget allows.
type TooManyRejectsError struct{ Rejects int64 }

func (e *TooManyRejectsError) Error() string {
	return fmt.Sprintf("the load ended early: it refused %s, more than --max-rejects allows", size.Count(e.Rejects, "row"))
}

// job is a chunk on its way through the run.
type job struct {
	step  int
	chunk record.Chunk
	first bool // of an overlong line
	seq   uint64
	bytes int64
	held  int64 // its share of the window
	at    int64 // the position of its end in the stored inputs; see counts
	mark  []byte
	done  chan struct{} // closed when parsed

	parsed *parsed
	msg    any

	lines   int64 // line ends before counted, for lineOf
	counted int
	end     byte // of a line
}

// lineOf returns the line number at which a record of the chunk begins. Calls in record order scan each byte once.
func (j *job) lineOf(start int) int64 {
	if start < j.counted {
		j.lines, j.counted = 0, 0
	}
	j.lines += int64(bytes.Count(j.chunk.Data[j.counted:start], []byte{j.end}))
	j.counted = start
	return j.chunk.Line + j.lines
}

// run is a running load.
type run struct {
	plan    *Plan
	sink    Sink
	o       Options
	jobs    chan *job // to parse
	ordered chan *job // to send, in order
	flight  chan *job // sent and not yet acknowledged
	window  *window
	log     *rejectLog
	stop    atomic.Bool // reading has stopped
	tooMany atomic.Bool
	counts  counts
	start   time.Time

	applied   uint64          // an earlier run sent batches up to this one
	refused   map[uint64]*Ack // what the server refused of them
	confirmed atomic.Uint64   // all refused rows of batches up to this one are on file
	repeated  atomic.Int64    // rows of batches read again
	acked     atomic.Uint64   // the last batch that was acknowledged
	heard     chan struct{}   // holds an element when acked has changed
}

// Run executes a load. The report is complete even if the error is *TooManyRejectsError. Refused rows alone are not an error.
func (p *Plan) Run(ctx context.Context, sink Sink, o Options) (*Report, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{
		plan: p, sink: sink, o: o, start: time.Now(), heard: make(chan struct{}, 1),
		jobs: make(chan *job, 2*o.Workers), ordered: make(chan *job, 4*o.Workers), flight: make(chan *job, 1<<14),
		window: newWindow(min(maxWindow, max(o.Memory/8, o.Memory-parseMemory, 2*chunkBytes))),
	}
	r.counts.init(p)
	opened, err := sink.Begin(ctx, Open{
		Graph: o.Graph, Stream: p.Stream, Restart: o.Restart, Spaces: p.spaces, Confirms: true, Remember: p.remembers(o.OnDuplicate), Unlogged: o.Unlogged,
	})
	if err != nil {
		return nil, err
	}
	seq, mark := opened.Seq, opened.Mark
	if !bytes.Equal(opened.ConfirmedMark, opened.Mark) {
		// An earlier run may not have written the rows refused from here on, so this run writes them again.
		seq, mark = opened.Confirmed, opened.ConfirmedMark
		r.applied, r.refused = opened.Seq, map[uint64]*Ack{}
		for i := range opened.Refused {
			r.refused[opened.Refused[i].Seq] = &opened.Refused[i]
		}
	}
	r.confirmed.Store(seq)
	at, err := p.resume(mark)
	if err != nil {
		return nil, err
	}
	if r.log, err = openRejects(o.RejectsDir, p, seq); err != nil {
		return nil, err
	}
	r.counts.resumed, r.counts.before = opened.Seq > 0, opened.Counts
	p.running.Store(r)

	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	spawn := func(f func() error) {
		wg.Go(func() {
			if err := f(); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
				cancel(err)
			}
		})
	}
	spawn(func() error { return r.read(ctx, seq, at) })
	for range o.Workers {
		spawn(func() error { r.parse(); return nil })
	}
	spawn(func() error { return r.send(ctx) })
	spawn(func() error { return r.receive(ctx) })
	stopProgress := r.watch()
	wg.Wait()
	stopProgress()
	rep := r.report()
	if len(errs) > 0 {
		return rep, errors.Join(errs[0], r.log.close(false))
	}
	if err := r.log.close(true); err != nil {
		return rep, err
	}
	if n, rows := r.counts.rejects.Load(), r.counts.rows.Load()+r.repeated.Load(); r.tooMany.Load() || o.MaxRejects.exceeded(n, rows) {
		return rep, &TooManyRejectsError{n}
	}
	return rep, nil
}

// position is a position in the inputs: in a text, its offset; in a database, see Cursor.
type position struct {
	step         int
	offset, line int64
	part         int64
}

// mark encodes a position for resume. Only a position within the edges of a vertex has its part.
func (p position) mark() []byte {
	b := binary.AppendUvarint([]byte{1}, uint64(p.step))
	b = binary.AppendUvarint(b, uint64(p.offset))
	b = binary.AppendUvarint(b, uint64(p.line))
	if p.part > 0 {
		b = binary.AppendUvarint(b, uint64(p.part))
	}
	return b
}

// resume decodes the position of a mark. Without a mark, it is the beginning.
func (p *Plan) resume(mark []byte) (position, error) {
	if len(mark) == 0 {
		return position{step: 0, offset: -1}, nil
	}
	bad := errors.New("this version cannot resume the interrupted load; use --restart")
	if mark[0] != 1 {
		return position{}, bad
	}
	var n [4]uint64
	rest := mark[1:]
	for i := range n {
		if i == 3 && len(rest) == 0 {
			break
		}
		v, k := binary.Uvarint(rest)
		if k <= 0 {
			return position{}, bad
		}
		n[i], rest = v, rest[k:]
	}
	if n[0] > uint64(len(p.steps)) {
		return position{}, bad
	}
	return position{int(n[0]), int64(n[1]), int64(n[2]), int64(n[3])}, nil
}

// read splits the inputs into chunks.
func (r *run) read(ctx context.Context, seq uint64, at position) error {
	defer close(r.jobs)
	defer close(r.ordered)
	resumed := at.offset >= 0
	for i := at.step; i < len(r.plan.steps) && !r.stop.Load(); i++ {
		if in := r.plan.steps[i].in; !resumed {
			at = position{step: i, offset: in.offset, line: in.line}
		}
		var err error
		if seq, err = r.readStep(ctx, i, seq, at, resumed); err != nil {
			return err
		}
		resumed = false
	}
	return nil
}

func (r *run) readStep(ctx context.Context, i int, seq uint64, at position, resumed bool) (_ uint64, err error) {
	s := &r.plan.steps[i]
	began := time.Now()
	t, err := s.in.chunks(ctx, s.edges, at, cmp.Or(r.plan.chunk, s.in.chunk()))
	if err != nil {
		return seq, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	base := r.plan.before(i)
	if resumed {
		r.counts.beginAt(base + min(t.Stored(), s.in.size))
	}
	long := false
	for !r.stop.Load() {
		c, err := t.Next()
		r.counts.spent(i, stageRead, time.Since(began))
		if errors.Is(err, io.EOF) {
			return seq, nil
		}
		if err != nil {
			return seq, fmt.Errorf("%s: %w", s.in.Name, err)
		}
		seq++
		j := &job{
			step: i, chunk: c, end: s.in.Dialect.End(), first: c.Long && !long, seq: seq, bytes: int64(len(c.Data)), done: make(chan struct{}),
			at:   base + min(t.Stored(), s.in.size),
			mark: position{i, c.EndOffset, c.EndLine, c.EndPart}.mark(),
		}
		// In flight are the text and its message, which is about as large; parse corrects this if the message is larger.
		j.held = 2 * j.bytes
		long = c.Long && !c.Last
		if err := r.window.take(ctx, j.held); err != nil {
			return seq, err
		}
		for _, to := range []chan *job{r.ordered, r.jobs} {
			select {
			case to <- j:
			case <-ctx.Done():
				return seq, context.Cause(ctx)
			}
		}
		began = time.Now()
	}
	return seq, nil
}

// chunk returns how much text makes a batch.
func (in *input) chunk() int {
	for i := range in.bound.Vertices {
		if in.bound.Vertices[i].Unfold != nil {
			return unfoldBytes
		}
	}
	for i := range in.bound.Edges {
		if in.bound.Edges[i].Unfold != nil {
			return unfoldBytes
		}
	}
	return chunkBytes
}

// parse turns chunks into messages.
func (r *run) parse() {
	var p *parser
	for j := range r.jobs {
		began := time.Now()
		s := &r.plan.steps[j.step]
		if p == nil || p.step != s {
			p = newParser(s, r.plan.known, r.o.OnDuplicate)
		}
		if j.chunk.Long {
			j.parsed = longLine(s, j)
		} else {
			j.parsed = p.parse(j.chunk.Data)
		}
		b := &j.parsed.batch
		b.Seq, b.Mark, b.Confirmed = j.seq, j.mark, r.confirmed.Load()
		j.parsed.vertices, j.parsed.edges = b.count()
		var copied bool
		if j.msg, copied = r.sink.Pack(b); copied {
			p.reuse(b)
		} else if more := 2*b.memory() - j.bytes; more > 0 {
			// The job keeps the columns, and applying them copies them once more.
			r.window.more(more)
			j.held += more
		}
		r.counts.spent(j.step, stageParse, time.Since(began))
		close(j.done)
	}
}

// longLine refuses an overlong line; the chunk is a part of it.
func longLine(s *step, j *job) *parsed {
	p := &parsed{}
	if j.first {
		p.rows = 1
		if !s.again {
			p.refused = []refused{{
				end: len(j.chunk.Data), slot: -1, value: excerpt(j.chunk.Data), code: record.TooLong,
				reason: fmt.Sprintf("the row is longer than %d bytes", maxRecord),
			}}
		}
	}
	return p
}

// send sends messages in order.
func (r *run) send(ctx context.Context) error {
	defer close(r.flight)
	var last *job
	for {
		var j *job
		var ok bool
		select {
		case j, ok = <-r.ordered:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !ok {
			if err := r.confirm(ctx, last); err != nil {
				return err
			}
			return r.sink.Finish()
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if r.tooMany.Load() {
			r.window.release(j.held) // the rejects budget was exceeded before this batch
			continue
		}
		began := time.Now()
		s := &r.plan.steps[j.step]
		for i := range j.parsed.refused {
			if err := r.reject(j, &j.parsed.refused[i]); err != nil {
				return err
			}
		}
		if j.chunk.Long && !j.first && !s.again {
			if err := r.log.more(s.in, j.chunk.Data, j.seq); err != nil {
				return err
			}
		}
		// Rejects of the parser reach the file before the server can apply the batch.
		if err := r.log.flush(); err != nil {
			return err
		}
		last = j
		if j.seq <= r.applied {
			if !s.again {
				r.repeated.Add(int64(j.parsed.rows))
			}
			if err := r.repeat(j); err != nil {
				return err
			}
			continue
		}
		if !s.again {
			r.counts.addRows(j.step, int64(j.parsed.rows))
		}
		r.counts.sent.Store(j.at)
		select {
		case r.flight <- j:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := r.sink.Send(j.msg); err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			// The stream is broken; receive gets the reason.
			<-ctx.Done()
			return nil
		}
		j.msg = nil
		r.counts.spent(j.step, stageWrite, time.Since(began))
		r.checkBudget()
	}
}

// repeat writes the rows that the server refused of a batch that an earlier run sent.
func (r *run) repeat(j *job) error {
	if a := r.refused[j.seq]; a != nil {
		if err := r.refuse(j, a); err != nil {
			return err
		}
	}
	r.settle(j.seq)
	r.acked.Store(j.seq)
	r.counts.sent.Store(j.at)
	r.window.release(j.held)
	return nil
}

// settle records that the refused rows of batches up to seq are on file.
func (r *run) settle(seq uint64) {
	if r.log.settled() {
		r.confirmed.Store(seq)
	}
}

// confirm sends, after the last acknowledgement, a batch without rows: it confirms to the server that all refused rows are on file, so that the
// server drops them.
func (r *run) confirm(ctx context.Context, last *job) error {
	if last == nil || r.plan.Stream == "" {
		return nil
	}
	for r.acked.Load() < last.seq {
		select {
		case <-r.heard:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if r.confirmed.Load() < last.seq {
		return nil // a later run with a directory writes them
	}
	j := &job{step: last.step, seq: last.seq + 1, at: last.at, mark: last.mark, parsed: &parsed{}}
	msg, _ := r.sink.Pack(&Batch{Seq: j.seq, Mark: j.mark, Confirmed: last.seq})
	select {
	case r.flight <- j:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := r.sink.Send(msg); err != nil {
		if !errors.Is(err, io.EOF) {
			return err
		}
		<-ctx.Done() // receive gets the reason
	}
	return nil
}

// receive handles acknowledgements.
func (r *run) receive(ctx context.Context) error {
	for {
		a, err := r.sink.Recv()
		if errors.Is(err, io.EOF) {
			if j, ok := <-r.flight; ok {
				return fmt.Errorf("the server ended the load before batch %d was acknowledged", j.seq)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if a.Seq == 0 {
			r.counts.add(a.Counts)
			continue
		}
		j, ok := <-r.flight
		if !ok || j.seq != a.Seq {
			return fmt.Errorf("the server acknowledged batch %d out of turn", a.Seq)
		}
		r.counts.spent(j.step, stageResolve, a.Resolve)
		r.counts.spent(j.step, stageCommit, a.Commit)
		if err := r.acknowledged(j, &a); err != nil {
			return err
		}
		r.window.release(j.held)
		r.checkBudget()
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
}

// acknowledged counts an applied batch and records its refused rows.
func (r *run) acknowledged(j *job, a *Ack) error {
	if err := r.refuse(j, a); err != nil {
		return err
	}
	r.settle(j.seq)
	r.acked.Store(j.seq)
	select {
	case r.heard <- struct{}{}:
	default:
	}
	var vertices, edges int64
	for i := range a.Rejected {
		if a.Rejected[i].Edge {
			edges++
		} else {
			vertices++
		}
	}
	r.counts.step.Store(int64(j.step))
	r.counts.done.Store(j.at)
	r.counts.add(a.Counts)
	r.counts.applied(j.step, int64(j.parsed.vertices)-vertices, int64(j.parsed.edges)-edges)
	return nil
}

// refuse writes the rows of a batch that the server refused.
func (r *run) refuse(j *job, a *Ack) error {
	for _, x := range a.Rejected {
		rows, rules := j.parsed.vertexRows, j.parsed.vertexRules
		if x.Edge {
			rows, rules = j.parsed.edgeRows, j.parsed.edgeRules
		}
		if x.Group >= len(rows) || x.Row >= len(rows[x.Group]) {
			return fmt.Errorf("the server refused a row that batch %d does not have", a.Seq)
		}
		if err := r.reject(j, r.plan.steps[j.step].locate(j.chunk.Data, int(rows[x.Group][x.Row]), rules[x.Group], &x)); err != nil {
			return err
		}
	}
	return r.log.flush()
}

// checkBudget stops the load once too many rows are refused. For a share, it extrapolates the number of rows of the whole load from its
// bytes.
func (r *run) checkBudget() {
	rows := r.counts.rows.Load() + r.repeated.Load()
	if all, began := r.plan.Bytes(), r.counts.began.Load(); r.o.MaxRejects.Share > 0 {
		if all == 0 {
			return // checked at the end
		}
		// Exclude read-ahead, so that the estimate of rows is rather too high than too low.
		read := r.counts.sent.Load() - began - text.ReadAhead
		if read <= 0 {
			return
		}
		rows = int64(math.Min(1<<62, float64(rows)*float64(all-began)/float64(read)))
	}
	if r.o.MaxRejects.exceeded(r.counts.rejects.Load(), rows) {
		r.tooMany.Store(true)
		r.stop.Store(true)
	}
}

func (b *Batch) count() (vertices, edges int) {
	for i := range b.Vertices {
		vertices += len(b.Vertices[i].Keys)
	}
	for i := range b.Edges {
		edges += len(b.Edges[i].Src)
	}
	return vertices, edges
}

// memory returns the size of a batch's columns, without the text that they share with its chunk.
func (b *Batch) memory() (n int64) {
	columns := func(keys int, ps []PropertyColumn) {
		n += int64(keys)
		for i := range ps {
			n += int64(cap(ps[i].Values))
		}
	}
	for i := range b.Vertices {
		columns(cap(b.Vertices[i].Keys), b.Vertices[i].Props)
	}
	for i := range b.Edges {
		columns(cap(b.Edges[i].Src)+cap(b.Edges[i].Dst), b.Edges[i].Props)
	}
	return n * int64(unsafe.Sizeof(graph.Value{}))
}
