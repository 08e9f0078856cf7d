package part

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
)

// Replicas is a data directory with replicas of the shards of graphs:
//
//	LOCK                 held while a process has the directory open
//	log/                 the logs of all replicas
//	replicas/LAYOUT      the layout, the number of this process, its shards, and the addresses of all processes
//	replicas/0002/       the shards with number 2; see Parts
//	replicas/0002.seed/  the state of another replica, while it arrives
type Replicas struct {
	layout  shard.Layout
	process int
	opts    storage.Options
	shared  *storage.Shared
	lock    io.Closer
	log     *replicated
	network Network

	mu    sync.Mutex
	parts map[int]*Parts

	moving    sync.Mutex // held while shards or addresses change
	kept      []int      // in order, as LAYOUT has them
	addresses []string   // by process, as LAYOUT has them

	seeds seedings
}

// Network reaches the other processes of a cluster.
type Network struct {
	// Send sends messages. It does not block, and may lose them.
	Send func(group uint32, messages []*replica.Message)
	// Seed asks a process for a copy of its shards with a number, which includes at least a log entry.
	Seed func(ctx context.Context, process, no int, index uint64) (SeedCopy, error)
}

// OpenReplicas opens the data directory of a process of a cluster, creating it if needed, and starts its replicas.
func OpenReplicas(opts storage.Options, layout shard.Layout, process int, network Network) (_ *Replicas, err error) {
	opts.EnsureDefaults()
	opts.Shards = layout.Shards
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if layout.Replicas > layout.Processes {
		return nil, fmt.Errorf("%d processes cannot hold %d replicas of a shard", layout.Processes, layout.Replicas)
	}
	if err := storage.MakeDir(opts.FS, opts.FS.PathJoin(opts.Dir, datadir.ReplicasName)); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	r := &Replicas{layout: layout, process: process, opts: opts, network: network, parts: map[int]*Parts{}}
	r.seeds.init(layout)
	adopts, err := r.adoptable()
	if err != nil {
		return nil, err
	}
	if r.lock, err = datadir.Lock(&opts); err != nil {
		return nil, err
	}
	r.shared = storage.NewShared(&opts)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if err := datadir.CheckRestored(&opts); err != nil {
		return nil, err
	}
	if !adopts {
		if err := r.checkLayout(); err != nil {
			return nil, err
		}
	}
	if err := datadir.DropCheckpoints(opts.FS, opts.Dir); err != nil {
		return nil, fmt.Errorf("remove an old checkpoint: %w", err)
	}
	if r.log, err = openLog(&opts, network.Send, r.behind); err != nil {
		return nil, err
	}
	if adopts {
		if err := r.adopt(); err != nil {
			return nil, fmt.Errorf("make the graphs of a single server those of process %d: %w", process, err)
		}
	}
	for no := range layout.Shards {
		if !slices.Contains(r.kept, no) {
			if err := r.clear(no); err != nil {
				return nil, err
			}
		}
	}
	for _, no := range r.kept {
		if err := r.openShard(no); err != nil {
			return nil, err
		}
		r.seeds.run(no, func() { r.dropSeed(no) })
	}
	return r, nil
}

// dir is the directory of the shards with a number.
func (r *Replicas) dir(no int) string {
	return r.opts.FS.PathJoin(r.opts.Dir, ReplicaDir(no))
}

// ReplicaDir is the directory, within the data directory, of the shards with a number.
func ReplicaDir(no int) string { return fmt.Sprintf("%s/%04d", datadir.ReplicasName, no) }

// open opens the shards with a number, whose log is l, after it has installed a seed that is prepared.
func (r *Replicas) open(no int, l *replica.Log) (*Parts, error) {
	if err := replica.InstallSeed(r.opts.FS, r.dir(no), l); err != nil {
		return nil, fmt.Errorf("seed shard %d: %w", no, err)
	}
	o := r.opts
	o.Dir = r.dir(no)
	return openParts(o, no, r.log, l, r.shared, func(s *Parts) { r.mend(no, s) })
}

// openLog opens the log of the process's replica of a shard: its last one, or an empty one for a replica that gets its id when it is
// admitted.
func (r *Replicas) openLog(no int) (*replica.Log, error) {
	id, ok, err := r.log.logs.Replica(uint32(no))
	if err != nil {
		return nil, err
	}
	if !ok {
		if id = r.layout.First(r.process); !r.Founds(no) {
			id = r.layout.Added(r.process, 0)
		}
	}
	return r.log.logs.Log(uint32(no), id)
}

// Layout is that of the cluster.
func (r *Replicas) Layout() shard.Layout { return r.layout }

// Process is the number of this process.
func (r *Replicas) Process() int { return r.process }

// StoreID names the log store.
func (r *Replicas) StoreID() replica.StoreID { return r.log.logs.ID() }

// Host runs the replicas.
func (r *Replicas) Host() *replica.Host { return r.log.host }

// Parts returns the shards with a number, nil if this process has none.
func (r *Replicas) Parts(no int) *Parts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parts[no]
}

// all returns the shards by their number.
func (r *Replicas) all() map[int]*Parts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.parts)
}

// Lead returns what the leader of the cluster opens its graphs with: options with which it reaches all shards through peers, and the graphs.
func (r *Replicas) Lead(peers storage.Peers) (opts storage.Options, shared *storage.Shared, held []datadir.Held, err error) {
	parts := r.Parts(0)
	if parts == nil {
		return opts, nil, nil, fail.NotFound("this process has no replica of shard 0")
	}
	opts = r.opts
	opts.Peers = peers
	return opts, r.shared, parts.Held(), nil
}

// Writable says why one of the shards cannot be written to, or nil.
func (r *Replicas) Writable() error {
	for _, p := range r.all() {
		if err := p.Writable(); err != nil {
			return err
		}
	}
	return nil
}

// CopiedFile opens a file of a copy of any of the shards.
func (r *Replicas) CopiedFile(id uint64, path string) (f io.ReadCloser, err error) {
	err = fail.NotFound("no such copy %x", id)
	for _, p := range r.all() {
		if f, err = p.CopiedFile(id, path); err == nil {
			return f, nil
		}
	}
	return nil, err
}

// Stats returns the shapes of the shards, by the graphs' names.
func (r *Replicas) Stats() map[string][]storage.Stats {
	out := map[string][]storage.Stats{}
	for no := range r.layout.Shards {
		if p := r.Parts(no); p != nil {
			for name, s := range p.Stats() {
				out[name] = append(out[name], s...)
			}
		}
	}
	return out
}

// TopologyStats returns what the cache of decoded lists and columns has done.
func (r *Replicas) TopologyStats() storage.TopologyStats { return r.shared.Topology().Stats() }

// SetTopologyBytes changes the memory for decoded lists and columns.
func (r *Replicas) SetTopologyBytes(n int64) { r.shared.Topology().SetBudget(int(n)) }

// Expired reports no deletions: the leader makes them.
func (r *Replicas) Expired() map[string][2]uint64 { return nil }

// Logged implements telemetry.Storage: the leader knows.
func (r *Replicas) Logged() map[string][2]uint64 { return nil }

// Close stops the replicas and closes all shards, which must no longer be in use, and frees the directory.
func (r *Replicas) Close() error {
	var errs []error
	r.mu.Lock() // see mend
	r.seeds.end()
	r.mu.Unlock()
	if r.log != nil {
		errs = append(errs, r.log.close())
	}
	r.seeds.running.Wait()
	for _, p := range r.all() {
		errs = append(errs, p.Close())
	}
	r.shared.Close()
	return errors.Join(append(errs, r.lock.Close())...)
}

// Recovered is what Recover finds in a data directory, or makes of it.
type Recovered struct {
	Shard   int
	Process int   // whose directory it is
	Lost    []int // the processes whose replicas are removed
	*replica.Recovery
}

// Recover makes the replicas in a data directory that is not open the only members of their groups: that of one shard, or all for -1; see
// replica.Recovery. Without force it only reports what it would do. Each shard is recovered atomically. After an error of the disk some may
// be recovered and others not; Recover can be repeated. Other errors change nothing.
func Recover(opts storage.Options, no int, force bool) (out []Recovered, err error) {
	opts.EnsureDefaults()
	was, moved, ok, err := readLayout(&opts)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fail.Invalid("%s holds no replicas", opts.Dir)
	}
	r := &Replicas{layout: was.Layout, process: was.Process, opts: opts}
	lock, err := datadir.Lock(&opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := datadir.CheckRestored(&opts); err != nil {
		return nil, err
	}
	// Opening the log of a directory without one would make an empty log.
	if _, err := opts.FS.Stat(opts.FS.PathJoin(opts.Dir, logName)); err != nil {
		return nil, fmt.Errorf("the log of the replicas: %w", err)
	}
	if r.log, err = openLog(&opts, nil, nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.log.close()) }()
	for shard := range was.Shards {
		if no >= 0 && no != shard || !slices.Contains(moved.Kept, shard) {
			continue
		}
		found, err := r.planRecovery(shard)
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	if len(out) == 0 {
		return nil, fail.Invalid("%s belongs to process %d, which has no replica of shard %d", opts.Dir, was.Process, no)
	}
	for i := range out {
		if !force {
			break
		}
		if err := out[i].Commit(); err != nil {
			return out[:i], fmt.Errorf("recover shard %d: %w", out[i].Shard, err)
		}
	}
	return out, nil
}

// planRecovery reads the log of a shard's replica.
func (r *Replicas) planRecovery(no int) (out Recovered, err error) {
	l, err := r.openLog(no)
	if err != nil {
		return out, err
	}
	o := r.opts
	o.Dir, o.Replica = r.dir(no), r.log.describe(l)
	// A seed that has arrived replaces the state, as when the replica opens; otherwise it would cut off what the recovery appends.
	if err := replica.InstallSeed(o.FS, o.Dir, l); err != nil {
		return out, fmt.Errorf("seed shard %d: %w", no, err)
	}
	if err := checkReplica(&o); err != nil {
		return out, err
	}
	out = Recovered{Shard: no, Process: r.process}
	if out.Recovery, err = replica.PlanRecovery(l, members(r.layout, no)); err != nil {
		return out, err
	}
	for _, id := range out.Former {
		if p := r.layout.Process(id); p != r.process && !slices.Contains(out.Lost, p) {
			out.Lost = append(out.Lost, p)
		}
	}
	return out, nil
}

// layoutRecord is the content of LAYOUT.
type layoutRecord struct {
	shard.Layout
	Process int `json:"process"`
	// Moved is nil as long as the process has the shards that the layout assigns to it. It is set with Processes at 0, which older versions
	// refuse.
	Moved *movedRecord `json:"moved,omitempty"`
}

// movedRecord says which shards a process has in place of those that the layout assigns to it, and which processes exist.
type movedRecord struct {
	Processes int   `json:"processes"` // of the layout
	Kept      []int `json:"kept"`
	// Addresses are those of all processes, by their numbers, once one was added or removed; "" for one that was.
	Addresses []string `json:"addresses,omitempty"`
}

// checkLayout compares the layout with the one that the directory was made with, which it writes if the directory has none, and
// learns which shards the process has.
func (r *Replicas) checkLayout() error {
	now := layoutRecord{Layout: r.layout, Process: r.process}
	was, moved, ok, err := readLayout(&r.opts)
	grows := was
	grows.Replicas = now.Replicas
	switch {
	case err != nil:
		return err
	case !ok:
		r.kept = now.founded()
		return r.writeLayout(now)
	case was.Replicas == 1 && grows == now && was != now: // the leaders of its groups add the other replicas
		return r.note(moved.Kept, moved.Addresses)
	case was != now:
		return fmt.Errorf("%s belongs to process %d of %d, with %d shards of %d replicas; this is process %d of %d, with %d shards of %d replicas",
			r.opts.Dir, was.Process, was.Processes, was.Shards, was.Replicas, now.Process, now.Processes, now.Shards, now.Replicas)
	}
	r.kept, r.addresses = moved.Kept, moved.Addresses
	return nil
}

// ReadLayout returns the layout that a data directory was made with, the number of its process, and the addresses of all processes, none if
// no process was added or removed, or the directory is new.
func ReadLayout(opts storage.Options) (layout shard.Layout, process int, addresses []string, err error) {
	opts.EnsureDefaults()
	was, moved, _, err := readLayout(&opts)
	return was.Layout, was.Process, moved.Addresses, err
}

// Addresses returns the addresses of all processes, by their numbers, as the directory had them when it was opened or they were set; none
// before a process was added or removed.
func (r *Replicas) Addresses() []string {
	r.moving.Lock()
	defer r.moving.Unlock()
	return slices.Clone(r.addresses)
}

// SetAddresses makes the addresses of all processes durable.
func (r *Replicas) SetAddresses(all []string) error {
	r.moving.Lock()
	defer r.moving.Unlock()
	if slices.Equal(all, r.addresses) {
		return nil
	}
	return r.note(r.kept, all)
}

// founded returns the shards that the layout assigns to the process.
func (l *layoutRecord) founded() (kept []int) {
	for no := range l.Shards {
		if slices.Contains(l.Keepers(no), l.Process) {
			kept = append(kept, no)
		}
	}
	return kept
}

func layoutPath(opts *storage.Options) string { return opts.FS.PathJoin(opts.Dir, datadir.LayoutName) }

// readLayout reads the layout that a directory was made with, and which shards its process keeps and processes it knows; ok is false if it has
// none.
func readLayout(opts *storage.Options) (was layoutRecord, moved movedRecord, ok bool, err error) {
	name := layoutPath(opts)
	f, err := opts.FS.Open(name)
	if fail.IsNotExist(err) {
		return was, moved, false, nil
	}
	if err != nil {
		return was, moved, false, err
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return was, moved, false, fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(b, &was); err != nil {
		return was, moved, false, graph.CorruptError("read "+name, err)
	}
	if m := was.Moved; m == nil {
		moved.Kept = was.founded()
	} else {
		was.Moved, was.Processes, moved = nil, m.Processes, *m
	}
	for _, no := range moved.Kept {
		if no < 0 || no >= was.Shards {
			return was, moved, false, graph.CorruptError(fmt.Sprintf("read %s: there is no shard %d of %d", name, no, was.Shards), nil)
		}
	}
	return was, moved, true, nil
}

func (r *Replicas) writeLayout(l layoutRecord) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return datadir.WriteWhole(r.opts.FS, layoutPath(&r.opts), append(b, '\n'))
}

// note writes which shards the process has, and the addresses of all processes. The caller holds moving.
func (r *Replicas) note(kept []int, addresses []string) error {
	l := layoutRecord{Layout: r.layout, Process: r.process, Moved: &movedRecord{Processes: r.layout.Processes, Kept: kept, Addresses: addresses}}
	l.Processes = 0
	if err := r.writeLayout(l); err != nil {
		return fmt.Errorf("write the layout of this process: %w", err)
	}
	r.kept, r.addresses = kept, addresses
	return nil
}

// Founds reports whether the layout assigns a shard to this process.
func (r *Replicas) Founds(no int) bool { return slices.Contains(r.layout.Keepers(no), r.process) }

// members returns the ids of the first replicas of a shard. A group that begins with one has its id in the log; see replica.Host.Begin.
func members(l shard.Layout, no int) (out []uint64) {
	if l.Replicas == 1 {
		return nil
	}
	for _, process := range l.Keepers(no) {
		out = append(out, l.First(process))
	}
	return out
}

// openShard opens the shards with a number and starts their replica.
func (r *Replicas) openShard(no int) error {
	l, err := r.openLog(no)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.seeds.begin(no)
	r.mu.Unlock()
	p, err := r.open(no, l)
	if err != nil {
		return err
	}
	if l, err = r.openLog(no); err != nil { // again, as a seed may have moved it
		return errors.Join(err, p.Close())
	}
	r.mu.Lock()
	r.parts[no] = p
	r.mu.Unlock()
	if err := p.start(l.Replica(), members(r.layout, no)); err != nil {
		r.mu.Lock()
		delete(r.parts, no)
		r.mu.Unlock()
		return errors.Join(err, p.Close())
	}
	return nil
}

// Hold adds an empty replica of a shard, which takes part once it is admitted; see replica.Host.
func (r *Replicas) Hold(no int) error {
	if no < 0 || no >= r.layout.Shards {
		return fail.Invalid("there is no shard %d: they have the numbers 0 to %d", no, r.layout.Shards-1)
	}
	r.moving.Lock()
	defer r.moving.Unlock()
	if r.Parts(no) != nil {
		return nil
	}
	if err := r.clear(no); err != nil {
		return err
	}
	if !slices.Contains(r.kept, no) {
		if err := r.note(slices.Sorted(slices.Values(append(slices.Clone(r.kept), no))), r.addresses); err != nil {
			return err
		}
	}
	return r.openShard(no)
}

// Release deletes the replica of a shard, which has left its group. After a crash, the
// replica remains, or the next start deletes what does.
func (r *Replicas) Release(no int) error {
	r.moving.Lock()
	defer r.moving.Unlock()
	p := r.Parts(no)
	if p == nil {
		return nil
	}
	if err := r.note(slices.DeleteFunc(slices.Clone(r.kept), func(k int) bool { return k == no }), r.addresses); err != nil {
		return err
	}
	r.log.host.Stop(uint32(no))
	r.mu.Lock()
	r.seeds.shards[no].end()
	r.mu.Unlock()
	r.seeds.shards[no].running.Wait() // which use its files
	r.mu.Lock()
	p = r.parts[no] // a seed may have replaced it
	delete(r.parts, no)
	r.mu.Unlock()
	return errors.Join(p.Close(), r.clear(no))
}

// clear deletes the remains of a shard that this process does not have.
func (r *Replicas) clear(no int) error {
	for {
		id, ok, err := r.log.logs.Replica(uint32(no))
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := r.log.logs.Remove(uint32(no), id); err != nil {
			return err
		}
	}
	fs, dir := r.opts.FS, r.dir(no)
	if err := errors.Join(fs.RemoveAll(dir), fs.RemoveAll(replica.SeedDir(dir))); err != nil {
		return fmt.Errorf("delete the replica of shard %d: %w", no, err)
	}
	return nil
}
