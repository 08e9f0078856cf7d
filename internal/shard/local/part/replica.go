package part

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
)

// The files of a replicated directory: the log store, and the id of the log that goes with the graphs. Graphs without their log may
// lack what was acknowledged, so they open only with it.
const (
	logName     = "log"
	replicaName = "REPLICA"
)

// logMemtable is the memory in bytes for entries of the log that are not in tables yet.
const logMemtable = 16 << 20

// replicated runs the replicas of a process, whose states are Parts.
type replicated struct {
	logs     *replica.LogStore
	host     *replica.Host
	flushing sync.WaitGroup
	end      sync.Once
	ended    error // of the log store
}

// openLog opens the log of a directory. send passes messages on to other processes and behind asks for a seed, see replica.HostOptions;
// both may be nil where no replica runs.
func openLog(opts *storage.Options, send func(group uint32, messages []*replica.Message), behind func(group uint32, leader, index uint64)) (*replicated, error) {
	opts.EnsureDefaults()
	dir := opts.FS.PathJoin(opts.Dir, logName)
	if err := storage.MakeDir(opts.FS, dir); err != nil {
		return nil, fmt.Errorf("make the directory of the log: %w", err)
	}
	r := &replicated{}
	var err error
	if r.logs, err = replica.OpenLogStore(replica.LogStoreOptions{Dir: dir, FS: opts.FS, MemtableBytes: logMemtable, Interrupt: opts.Interrupt, Logger: opts.Logger}); err != nil {
		return nil, err
	}
	r.host = replica.NewHost(replica.HostOptions{Store: r.logs, Send: send, Behind: behind, CutBytes: opts.Tuning.LogBytes, Logger: opts.Logger})
	return r, nil
}

// describe says which log a replica has.
func (r *replicated) describe(l *replica.Log) *storage.Replica {
	last, _ := l.LastIndex()
	return &storage.Replica{ID: r.id(), New: last == 0}
}

// id names the log store.
func (r *replicated) id() string {
	id := r.logs.ID()
	return hex.EncodeToString(id[:])
}

func (r *replicated) close() error {
	r.end.Do(func() {
		r.host.Close()
		r.flushing.Wait()
		r.ended = r.logs.Close()
	})
	return r.ended
}

// checkReplica compares the log that the graphs of a directory go with to the one that is open.
func checkReplica(opts *storage.Options) error {
	name := opts.FS.PathJoin(opts.Dir, replicaName)
	id, err := readReplica(opts.FS, name)
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case id == opts.Replica.ID:
		return nil
	case id != "":
		return fmt.Errorf("%s: the graphs belong to log %s, and the log is %s", opts.Dir, id, opts.Replica.ID)
	case !opts.Replica.New:
		return fmt.Errorf("%s: the log has entries, but %s, which goes with the graphs, is missing", opts.Dir, replicaName)
	}
	return nil
}

// readReplica returns the id of a log, "" if there is none.
func readReplica(fs vfs.FS, name string) (string, error) {
	f, err := fs.Open(name)
	if fail.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(f)
	return strings.TrimSpace(string(b)), errors.Join(err, f.Close())
}

// writeReplica notes the log that the graphs go with.
func writeReplica(opts *storage.Options) error {
	return datadir.WriteWhole(opts.FS, opts.FS.PathJoin(opts.Dir, replicaName), []byte(opts.Replica.ID+"\n"))
}

// The kinds of commands.
const (
	attachCommand  = 1
	dropCommand    = 2
	applyCommand   = 3
	discardCommand = 4
)

// command is a change of Parts. As an entry of a log it is the kind, a byte, and the fields that the kind has, each as a uvarint or as
// bytes behind their number.
type command struct {
	kind   byte
	graph  storage.PartOf // its name alone in applyCommand
	epoch  uint64         // of attachCommand and applyCommand
	create bool           // of attachCommand
	change storage.Changed
}

func (c *command) append(dst []byte) []byte {
	number := func(n uint64) { dst = binary.AppendUvarint(dst, n) }
	flag := func(on bool) { dst = append(dst, map[bool]byte{true: 1}[on]) }
	dst = append(dst, c.kind)
	number(uint64(len(c.graph.Name)))
	dst = append(dst, c.graph.Name...)
	switch c.kind {
	case attachCommand, dropCommand, discardCommand:
		number(c.graph.ID)
		number(uint64(c.graph.Shards))
		if c.kind == attachCommand {
			number(c.epoch)
			flag(c.create)
		}
	case applyCommand:
		number(c.epoch)
		number(uint64(c.change.Store))
		number(c.change.Version)
		flag(c.change.Same)
		flag(c.change.Keep)
		number(uint64(len(c.change.Gone)))
		for _, v := range c.change.Gone {
			number(v)
		}
		dst = append(dst, c.change.Batch...)
	}
	return dst
}

var errCommand = errors.New("malformed command")

// readCommand reads a command, which shares the memory of b.
func readCommand(b []byte) (c command, err error) {
	if len(b) == 0 {
		return c, errCommand
	}
	c.kind = b[0]
	f := shard.Fields{Rest: b[1:]}
	flag := func() bool {
		n := f.Number()
		f.Bad = f.Bad || n > 1
		return n == 1
	}
	c.graph.Name = string(f.Bytes())
	switch c.kind {
	case attachCommand, dropCommand, discardCommand:
		c.graph.ID = f.Number()
		shards := f.Number()
		f.Bad = f.Bad || shards > storage.MaxShards
		c.graph.Shards = int(shards)
		if c.kind == attachCommand {
			c.epoch, c.create = f.Number(), flag()
		}
		f.Bad = f.Bad || len(f.Rest) > 0
	case applyCommand:
		c.epoch = f.Number()
		store := f.Number()
		f.Bad = f.Bad || store > uint64(storage.ValuesStore)
		c.change = storage.Changed{Store: storage.Store(store), Version: f.Number(), Same: flag(), Keep: flag()}
		if n := f.Count(); n > 0 {
			c.change.Gone = make([]uint64, n)
			for i := range c.change.Gone {
				c.change.Gone[i] = f.Number()
			}
		}
		c.change.Batch = f.Rest
	default:
		return c, errCommand
	}
	if f.Bad {
		return c, errCommand
	}
	return c, nil
}

// change proposes a command to the log, and returns its result once the parts have applied it.
func (s *Parts) change(ctx context.Context, c *command) error {
	return s.log.host.Propose(ctx, uint32(s.no), c.append(nil))
}

// partsState is Parts as the state of their replica. It implements replica.State.
type partsState struct{ s *Parts }

// Applied implements replica.State.
func (st partsState) Applied() (index uint64) {
	for _, p := range st.s.all() {
		index = max(index, p.Applied())
	}
	return index
}

// Apply implements replica.State. An error that all replicas have is the result of its command.
func (st partsState) Apply(commands []replica.Command) error {
	for i := range commands {
		c := &commands[i]
		read, err := readCommand(c.Data)
		if err != nil {
			return fmt.Errorf("entry %d: %w", c.Index, err)
		}
		switch err := st.apply(c.Index, &read); {
		case err == nil:
		case refusal(err):
			c.Result = err
			if errors.Is(err, storage.ErrOrder) { // a writer sends its batches one after another
				st.s.Options.Logger.Error("a replica refuses a batch", slog.Int("shard", st.s.no), slog.Uint64("entry", c.Index), slog.Any("error", err))
			}
		default:
			return fmt.Errorf("entry %d: %w", c.Index, err)
		}
	}
	return nil
}

func (st partsState) apply(entry uint64, c *command) error {
	switch c.kind {
	case attachCommand:
		_, err := st.s.attach(entry, c.graph, c.epoch, c.create)
		return err
	case dropCommand:
		return st.s.drop(c.graph)
	case discardCommand:
		return st.s.discard(c.graph)
	default:
		p, err := st.s.Part(c.graph.Name)
		if err != nil {
			return err
		}
		return p.Apply(entry, c.epoch, &c.change)
	}
}

// refusal reports whether an error depends only on the state and the command, so that all replicas have it.
func refusal(err error) bool {
	if errors.Is(err, storage.ErrFenced) || errors.Is(err, storage.ErrOrder) {
		return true
	}
	switch graph.AsError(err).Kind {
	case graph.KindInvalid, graph.KindExists, graph.KindNotFound:
		return true
	default:
		return false
	}
}

// settle flushes all parts before their epoch rises. A part takes an entry by the greatest epoch of all parts, so none may fall back
// behind an entry that raises it. The caller holds s.Mu.
func (s *Parts) settle() error {
	for _, p := range s.ByName {
		if err := p.Part.Flush(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// Durable implements replica.State.
func (st partsState) Durable() (uint64, error) {
	durable := uint64(math.MaxUint64)
	for _, p := range st.s.all() {
		index, ok, err := p.Durable()
		if err != nil {
			return 0, err
		}
		if ok {
			durable = min(durable, index)
		}
	}
	return durable, nil
}

// Flush implements replica.State.
func (st partsState) Flush() {
	for _, p := range st.s.all() {
		if p.Enter() != nil {
			continue // it is being dropped
		}
		st.s.log.flushing.Go(func() {
			defer p.Leave()
			if err := p.Part.Flush(context.Background()); err != nil {
				st.s.Options.Logger.Error("flush a shard", slog.String("graph", p.Name), slog.Any("error", err))
			}
		})
	}
}

// all returns the parts.
func (s *Parts) all() []*Part {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	out := make([]*Part, 0, len(s.ByName))
	for _, p := range s.ByName {
		out = append(out, p)
	}
	return out
}
