package replica

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// chain is a state for tests: a digest over all commands in log order, in a Pebble store without a WAL.
type chain struct {
	db      *pebble.DB
	node    *simNode
	life    int // of the node
	sim     *simulation
	group   uint32
	applied uint64
	passed  uint64 // the last command that the group has passed on since it was opened
	digest  uint64
	durable uint64          // as of the last requested flush
	seen    map[uint64]bool // the numbers of the applied commands
}

var chainKey, crcTable = []byte("applied"), crc64.MakeTable(crc64.ECMA)

func stateDir(group uint32) string { return "state" + strconv.Itoa(int(group)) }

func openChain(n *simNode, group uint32) *chain {
	s := n.sim
	db, err := pebble.Open(stateDir(group), &pebble.Options{FS: n.fs, DisableWAL: true, MemTableSize: 256 << 10, FormatMajorVersion: pebble.FormatNewest, Logger: kv.Quiet{}})
	require.NoError(s.t, err)
	c := &chain{db: db, node: n, life: n.life, sim: s, group: group, seen: map[uint64]bool{}}
	c.applied, c.digest = c.read(&pebble.IterOptions{})
	c.durable, _ = c.read(&pebble.IterOptions{OnlyReadGuaranteedDurable: true})
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("c"), UpperBound: []byte("d")})
	require.NoError(s.t, err)
	for ok := it.First(); ok; ok = it.Next() {
		c.seen[binary.BigEndian.Uint64(it.Key()[1:])] = true
	}
	require.NoError(s.t, it.Close())
	return c
}

func (c *chain) read(o *pebble.IterOptions) (applied, digest uint64) {
	it, err := c.db.NewIter(o)
	require.NoError(c.sim.t, err)
	if it.SeekGE(chainKey) && string(it.Key()) == string(chainKey) {
		applied, digest = binary.BigEndian.Uint64(it.Value()), binary.BigEndian.Uint64(it.Value()[8:])
	}
	require.NoError(c.sim.t, it.Close())
	return applied, digest
}

func (c *chain) Applied() uint64 { return c.applied }

func (c *chain) Durable() (uint64, error) { return c.durable, nil }

// Flush implements State. The simulation flushes when it draws so.
func (c *chain) Flush() {}

func (c *chain) flush() {
	require.NoError(c.sim.t, c.db.Flush())
	c.durable, _ = c.read(&pebble.IterOptions{OnlyReadGuaranteedDurable: true})
	require.Equal(c.sim.t, c.applied, c.durable)
}

var errOdd = errors.New("odd")

func (c *chain) Apply(commands []Command) error {
	b := c.db.NewBatch()
	for i := range commands {
		cmd := &commands[i]
		require.Greater(c.sim.t, cmd.Index, c.passed)
		c.passed = cmd.Index
		if cmd.Index <= c.applied {
			number := binary.BigEndian.Uint64(cmd.Data)
			require.True(c.sim.t, c.seen[number])
			require.Equal(c.sim.t, c.sim.known[c.group].index[number], cmd.Index, "command %d is passed on at another entry", number)
			continue
		}
		c.applied = cmd.Index
		number := binary.BigEndian.Uint64(cmd.Data)
		require.False(c.sim.t, c.seen[number], "command %d is applied twice", number)
		c.seen[number] = true
		c.digest = crc64.Update(c.digest, crcTable, cmd.Data)
		require.NoError(c.sim.t, b.Set(binary.BigEndian.AppendUint64([]byte("c"), number), nil, nil))
		if number%8 == 7 {
			cmd.Result = errOdd
		}
		if c.life == c.node.life {
			c.sim.applied(c.group, cmd, c.digest)
		}
	}
	require.NoError(c.sim.t, b.Set(chainKey, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.applied), c.digest), nil))
	return b.Commit(pebble.NoSync)
}

// simulation runs the replicas of some groups on simulated nodes: one seed determines time, messages, disks and crashes.
type simulation struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Duration
	nodes  []*simNode
	groups uint32
	queue  []message
	cut    map[[2]int]bool // the blocked links, from one node to another
	calm   bool            // no more faults
	next   uint64
	trace  uint64
	// the known history of each group
	known  []history
	behind []seeding
	lost   *simNode // whose replicas are to be replaced
	skewed bool     // the clocks differ by more than leases allow
	count  map[string]int
}

// history records the outcome of a group's commands.
type history struct {
	at       map[uint64]uint64 // the digest at the index of each command
	index    map[uint64]uint64 // of each command by its number
	acked    []uint64          // numbers of commands
	term     uint64            // the greatest in which a command was acknowledged
	rejected []uint64          // that must not be applied
}

type message struct {
	at       time.Duration
	group    uint32
	from, to int
	bytes    []byte
}

// simMessage is the maximum message size: small, so that many commands span several entries.
const simMessage = 1 << 10

// simNode is a process with a disk.
type simNode struct {
	sim    *simulation
	id     int
	fs     *vfs.MemFS
	store  *LogStore // nil while the node is down
	groups []*Group
	states []*chain
	cut    []uint64 // the index up to which each log is compacted
	life   int      // counts the starts
	losses int      // of its disk: the ids of its replicas change
	muted  []bool   // by group: the replica waits to be added
	rate   float64  // of the node's clock
	pace   float64  // of its ticks, by its clock
	tick   time.Duration
	disk   simDisk
	up     time.Duration // when it starts again
	left   *vfs.MemFS    // the disk after a crash; nil if there was none
}

func (n *simNode) clock() time.Duration { return time.Duration(float64(n.sim.now) * n.rate) }

func (n *simNode) start() {
	s := n.sim
	n.life++
	n.disk.repair()
	if n.life > 1 && !s.calm && len(s.nodes) > 1 && s.lost == nil && s.rng.IntN(2) == 0 && !n.damage() {
		n.lose()
		return
	}
	var err error
	n.store, _, err = n.openLog(n.fs)
	require.NoError(s.t, err)
	n.groups, n.states, n.cut = make([]*Group, s.groups), make([]*chain, s.groups), make([]uint64, s.groups)
	n.muted = make([]bool, s.groups)
	n.tick = n.clock()
	for g := range s.groups {
		require.NoError(s.t, n.open(g, n.fs))
	}
}

// open opens a replica, after it has installed a seed that is prepared.
func (n *simNode) open(g uint32, fs vfs.FS) error {
	s, life := n.sim, n.life
	l, err := n.store.Log(g, n.replica())
	require.NoError(s.t, err)
	n.muted[g] = n.losses > 0 && l.hard == nil
	if err := InstallSeed(fs, stateDir(g), l); err != nil {
		return err
	}
	st := openChain(n, g)
	var members []uint64
	for i := range s.nodes {
		members = append(members, uint64(i)+1)
	}
	group, err := OpenGroup(GroupOptions{
		Group: g, Replica: n.replica(), Members: members, Log: l, State: st, Clock: n.clock, CutEntries: 20, CutBytes: 2 << 10, MessageBytes: simMessage, Logger: slog.New(slog.DiscardHandler),
		Send: func(ms []*pb.Message) {
			if n.life != life {
				return
			}
			s.send(g, n.id, ms)
			if !s.calm && s.rng.IntN(400) == 0 {
				n.fail()
			}
		},
		Behind: func(_, index uint64) {
			if n.life == life {
				s.behind = append(s.behind, seeding{n, life, g, index})
			}
		},
	})
	require.NoError(s.t, err)
	n.groups[g], n.states[g], n.cut[g] = group, st, l.first-1
	return nil
}

// replica is the id of the node's replicas.
func (n *simNode) replica() uint64 { return uint64(n.id + 1 + n.losses*len(n.sim.nodes)) }

// lose ends the node's process and takes its disk.
func (n *simNode) lose() {
	if n.store != nil {
		n.stop(true)
	}
	n.fs = vfs.NewCrashableMem()
	n.losses++
	n.sim.lost = n
	n.sim.count["disks lost"]++
}

// replace has the replicas of a node that has lost its disk replaced by new ones, and reports whether all are.
func (s *simulation) replace(n *simNode) bool {
	replaced := true
	for g := range s.groups {
		in := false
		for _, other := range s.nodes {
			if other == n || other.store == nil || other.disk.busy() {
				continue
			}
			l := other.groups[g]
			in = in || l.members.Has(n.replica())
			if !l.leads || l.changing != nil {
				continue
			}
			var c Change
			old := n.replica() - uint64(len(s.nodes))
			switch p, ok := l.node.Status().Progress[n.replica()]; {
			case !ok:
				c = Change{Learner: n.replica(), Store: StoreID{byte(n.losses)}}
			case p.IsLearner && p.Match+20 >= l.log.last:
				c = Change{Promote: []uint64{n.replica()}, Remove: []uint64{old}}
			default:
				continue
			}
			l.Change(c, func(err error) {
				require.True(s.t, err == nil || errors.Is(err, ErrChanging) || errors.Is(err, ErrAmbiguous) || errors.Is(err, ErrNotLeader) || errors.Is(err, ErrStopped), "%v", err)
			})
		}
		if n.store != nil && in {
			n.muted[g] = false
		}
		replaced = replaced && n.store != nil && slices.Contains(n.groups[g].members.Voters(), n.replica()) && !n.groups[g].members.Joint()
	}
	return replaced
}

// fail makes the power fail now: nothing that the process does from here on survives.
func (n *simNode) fail() {
	n.left = n.fs.CrashClone(vfs.CrashCloneCfg{})
	n.life++
}

// seeding is a replica that has to be seeded, with an entry at least.
type seeding struct {
	node  *simNode
	life  int
	group uint32
	index uint64
}

// seed seeds a replica from any other one. The power may fail in between.
func (s *simulation) seed(to seeding) {
	n, g := to.node, to.group
	from := s.nodes[s.rng.IntN(len(s.nodes))]
	if n.life != to.life || n.disk.busy() || n.groups[g].fault != nil || from.store == nil || from.disk.busy() || from == n || from.groups[g].applied < to.index {
		return // the leader asks again
	}
	at, err := from.groups[g].Snapshot()
	require.NoError(s.t, err)
	from.states[g].flush()
	require.NoError(s.t, from.fs.RemoveAll("copy"))
	require.NoError(s.t, from.states[g].db.Checkpoint("copy"))
	dir := SeedDir(stateDir(g))
	const never = 1 << 30
	crash, full := never, never
	if !s.calm && s.rng.IntN(3) > 0 {
		crash = s.rng.IntN(40)
	}
	if !s.calm && s.rng.IntN(3) == 0 {
		full = s.rng.IntN(40)
	}
	fs := errorfs.Wrap(n.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if crash--; crash == 0 {
			n.fail()
			s.count["crashes while seeding"]++
		}
		if full--; full < 0 && full > -20 && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	require.NoError(s.t, n.fs.RemoveAll(dir))
	if _, err = vfs.Clone(from.fs, fs, "copy", dir, vfs.CloneSync); err != nil {
		require.ErrorIs(s.t, err, syscall.ENOSPC)
		s.count["seeds without space"]++
		return
	}
	if !n.groups[g].Lacks(at) {
		s.count["seeds in vain"]++
		return
	}
	// From here on a failure leaves the replica closed, see Host.Install.
	n.groups[g].Close()
	if err = PrepareSeed(fs, stateDir(g), at); err == nil {
		require.NoError(s.t, n.states[g].db.Close())
		if err = n.open(g, fs); err == nil {
			s.count["seeds"]++
			return
		}
		n.states[g] = nil
	}
	require.True(s.t, errors.Is(err, syscall.ENOSPC) || n.store.Err() != nil, "%v", err)
	s.count["seeds without space"]++
	if n.left == nil {
		n.fail()
	}
}

// stop ends the node's process; crash also discards its unsynced writes.
func (n *simNode) stop(crash bool) {
	n.life++
	if n.disk.busy() && n.left == nil {
		n.fail()
	}
	n.disk.release()
	if n.left != nil {
		n.fs, n.left = n.left, nil
	} else if crash {
		n.fs = n.fs.CrashClone(vfs.CrashCloneCfg{})
	}
	n.up = n.sim.now + time.Duration(n.sim.rng.IntN(3000)>>(2*n.sim.rng.IntN(3)))*time.Millisecond
	if n.sim.rng.IntN(2) == 0 {
		n.up += 6 * time.Second // the others cut what it lacks
	}
	n.sim.count["stops"]++
	for _, st := range n.states {
		if st != nil {
			require.NoError(n.sim.t, st.db.Close())
		}
	}
	if err := n.store.Close(); n.store.Err() == nil {
		require.NoError(n.sim.t, err)
	}
	n.store, n.groups, n.states = nil, nil, nil
}

func (s *simulation) send(group uint32, from int, ms []*pb.Message) {
	for _, m := range ms {
		b, err := proto.Marshal(m)
		require.NoError(s.t, err)
		require.Equal(s.t, from, int(m.GetFrom()-1)%len(s.nodes), "%v in the name of another member", m.GetType()) // see Group.send
		s.count[m.GetType().String()]++
		copies := 1
		delay := time.Duration(1+s.rng.IntN(20)) * time.Millisecond
		if !s.calm {
			switch p := s.rng.IntN(100); {
			case p < 5:
				copies = 0
			case p < 8:
				copies = 2
			case p < 10, m.GetType() == pb.MsgTimeoutNow && p < 60:
				delay += time.Duration(s.rng.IntN(3000)) * time.Millisecond
			}
		}
		for range copies {
			s.queue = append(s.queue, message{s.now + delay, group, from, int(m.GetTo()-1) % len(s.nodes), b})
		}
	}
}

// applied records a command that a replica applies and compares it with the other replicas' command at its index.
func (s *simulation) applied(group uint32, c *Command, digest uint64) {
	h, number := &s.known[group], binary.BigEndian.Uint64(c.Data)
	if was, ok := h.at[c.Index]; ok {
		require.Equal(s.t, was, digest, "replicas of group %d differ at entry %d", group, c.Index)
	}
	if was, ok := h.index[number]; ok {
		require.Equal(s.t, was, c.Index, "command %d is at two entries", number)
	}
	h.at[c.Index], h.index[number] = digest, c.Index
	s.trace = crc64.Update(s.trace, crcTable, binary.BigEndian.AppendUint64(nil, digest))
}

// propose makes a node propose a command.
func (s *simulation) propose(n *simNode, group uint32) {
	s.next++
	number, life := s.next, n.life
	size := s.rng.IntN(50)
	switch {
	case s.rng.IntN(8) == 0:
		size = s.rng.IntN(5 * simMessage)
	case s.rng.IntN(16) == 0:
		size = s.rng.IntN(24 * simMessage)
	}
	command := append(binary.BigEndian.AppendUint64(nil, number), make([]byte, size)...)
	h := &s.known[group]
	ended := false
	n.groups[group].Propose(command, func(err error) {
		require.False(s.t, ended, "command %d ends twice", number)
		ended = true
		if life != n.life {
			return // its process has crashed
		}
		switch {
		case err == nil, errors.Is(err, errOdd):
			require.Equal(s.t, number%8 == 7, err != nil)
			require.True(s.t, n.states[group].seen[number])
			h.acked, h.term = append(h.acked, number), max(h.term, n.groups[group].term)
			s.count["acked"]++
			if size > simMessage {
				s.count["acked large"]++
			}
		case errors.Is(err, ErrNotLeader):
			h.rejected = append(h.rejected, number)
		default:
			require.ErrorIs(s.t, err, ErrAmbiguous)
			s.count["ambiguous"]++
		}
	})
}

// read makes a node read and expects all previously acknowledged commands.
func (s *simulation) read(n *simNode, group uint32) {
	before, life := len(s.known[group].acked), n.life
	n.do(func() {
		n.groups[group].Read(func(err error) {
			if life != n.life {
				return
			}
			if err != nil {
				require.True(s.t, errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrStopped), "%v", err) // it is seeded
				return
			}
			s.count["reads"]++
			for _, number := range s.known[group].acked[:before] {
				require.True(s.t, n.states[group].seen[number], "a read misses command %d", number)
			}
		})
	})
}

// confirm makes a node confirm that it leads in its term: no other had acknowledged a command in a later one before.
func (s *simulation) confirm(n *simNode, group uint32) {
	st, before, life := n.groups[group].Status(), s.known[group].term, n.life
	n.groups[group].Confirm(st.Term, func(err error) {
		switch {
		case life != n.life:
		case err == nil:
			require.LessOrEqual(s.t, before, st.Term)
			s.count["confirmed"]++
		case errors.Is(err, ErrStopped):
			require.Error(s.t, n.store.Err())
		case st.Leads:
			require.True(s.t, errors.Is(err, ErrNotLeader) || errors.Is(err, ErrNoQuorum), "%v", err)
			s.count["unconfirmed"]++
		default:
			require.ErrorIs(s.t, err, ErrNotLeader)
		}
	})
}

// checkLeases expects at most one replica of a group to hold a lease, and that replica to have all acknowledged commands.
func (s *simulation) checkLeases(group uint32) {
	var holders []int
	for _, n := range s.nodes {
		if n.store == nil || s.skewed || n.groups[group].Leased() == 0 {
			continue
		}
		holders = append(holders, n.id)
		require.GreaterOrEqual(s.t, n.groups[group].Leased(), s.known[group].term)
		acked := s.known[group].acked
		if len(acked) > 0 {
			require.True(s.t, n.states[group].seen[acked[len(acked)-1]], "the holder of the lease misses command %d", acked[len(acked)-1])
		}
	}
	require.LessOrEqual(s.t, len(holders), 1, "more than one lease: %d", holders)
	s.count["leased"] += len(holders)
}

// step advances the simulation by 10 ms.
func (s *simulation) step() {
	s.now += 10 * time.Millisecond
	for _, n := range s.nodes {
		if n.store == nil {
			if s.calm || s.now >= n.up {
				n.start()
			}
			continue
		}
		if n.store.Err() != nil && (s.calm || s.rng.IntN(100) == 0) {
			n.stop(true) // someone starts it again
			continue
		}
		for interval := time.Duration(float64(TickInterval) / n.pace); n.clock() >= n.tick+interval; {
			n.tick += interval
			for i, g := range n.groups {
				if !n.muted[i] && !n.disk.busy() {
					n.check(g.Tick())
				}
			}
		}
	}
	if !s.calm {
		s.fault()
	}
	behind := s.behind
	s.behind = nil
	for _, b := range behind {
		s.seed(b)
	}
	if s.lost != nil && s.replace(s.lost) {
		s.lost = nil
		s.count["replaced"]++
	}
	var due []message
	s.queue = slices.DeleteFunc(s.queue, func(m message) bool {
		if m.at <= s.now {
			due = append(due, m)
		}
		return m.at <= s.now
	})
	s.rng.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	for _, m := range due {
		to := s.nodes[m.to]
		if to.store == nil || to.muted[m.group] || s.cut[[2]int{m.from, m.to}] {
			continue
		}
		to.do(func() {
			pm := &pb.Message{}
			require.NoError(s.t, proto.Unmarshal(m.bytes, pm))
			to.check(to.groups[m.group].Step(pm))
		})
	}
	for _, n := range s.nodes {
		if n.store == nil || !n.process() {
			continue
		}
		for g, group := range n.groups {
			st := group.Status()
			if cut := st.FirstIndex - 1; cut != n.cut[g] {
				require.LessOrEqual(s.t, cut, n.states[g].durable)
				n.cut[g] = cut
				s.count["cuts"]++
			}
			require.True(s.t, group.Leased() == 0 || st.Leads && group.Leased() == st.Term)
		}
	}
	for _, n := range s.nodes {
		if n.store != nil && n.left != nil {
			n.stop(true)
		}
	}
	for g := range s.groups {
		s.checkLeases(g)
	}
}

// fault injects an occasional fault into a running node.
func (s *simulation) fault() {
	n, g := s.nodes[s.rng.IntN(len(s.nodes))], s.rng.Uint32N(s.groups)
	if n.store == nil {
		return
	}
	switch p := s.rng.IntN(1000); {
	case p == 0 && len(s.nodes) > 1 && s.lost == nil:
		n.lose()
	case p < 5:
		n.stop(s.rng.IntN(4) > 0)
	case p < 10:
		other := s.nodes[s.rng.IntN(len(s.nodes))]
		s.cut[[2]int{n.id, other.id}] = true
		if s.rng.IntN(3) > 0 {
			s.cut[[2]int{other.id, n.id}] = true
		}
	case p < 20:
		clear(s.cut)
	case p < 30:
		n.do(func() {
			for g := range n.groups {
				n.states[g].flush()
			}
		})
	case p < 50:
		life, to := n.life, uint64(s.rng.IntN(len(s.nodes)+1)) // a former member at times
		n.do(func() {
			n.groups[g].Transfer(to, func(err error) {
				if life == n.life && err == nil {
					s.count["transfers"]++
				}
			})
		})
	case p < 80:
		n.do(func() { s.confirm(n, g) })
	case p < 150:
		s.read(n, g)
	case p < 500:
		n.do(func() { s.propose(n, g) })
	case p < 502:
		n.disk.slow()
	case p == 502 && s.rng.IntN(2) == 0:
		n.disk.slow()
		n.disk.lacks = !n.disk.busy()
	}
}

// newSimulation starts some nodes.
func newSimulation(t *testing.T, seed uint64, nodes int) *simulation {
	cryptotest.SetGlobalRandom(t, seed) // raft draws its election timeouts from it
	s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 2)), groups: 2, cut: map[[2]int]bool{}, count: map[string]int{}}
	for range s.groups {
		s.known = append(s.known, history{at: map[uint64]uint64{}, index: map[uint64]uint64{}})
	}
	s.skewed = seed%5 == 4
	for i := range nodes {
		n := &simNode{sim: s, id: i, fs: vfs.NewCrashableMem(), rate: 0.95 + 0.1*s.rng.Float64(), pace: 1}
		if s.skewed {
			n.rate = []float64{0.5, 1, 1.5}[s.rng.IntN(3)]
		} else if s.rng.IntN(3) == 0 {
			n.pace = 0.5 // of a process that gets half of its time
		}
		n.disk.n = n
		s.nodes = append(s.nodes, n)
	}
	for _, n := range s.nodes {
		n.start()
	}
	return s
}

// end stops all nodes.
func (s *simulation) end() {
	for _, n := range s.nodes {
		n.stop(false)
	}
}

func simulate(t *testing.T, seed uint64, steps int) *simulation {
	s := newSimulation(t, seed, []int{3, 3, 1, 5}[seed%4])
	for range steps {
		s.step()
	}
	// Without faults, each group elects a leader, applies all proposals and becomes idle.
	s.calm = true
	clear(s.cut)
	for range 3000 / 10 * 4 {
		s.step()
	}
	for g := range s.groups {
		for range 100 {
			for _, n := range s.nodes {
				if n.groups[g].Status().Leads {
					s.propose(n, g)
				}
			}
			s.step()
		}
	}
	for range 300 {
		s.step()
	}
	for g, h := range s.known {
		first := s.nodes[0].states[g]
		require.NotEmpty(t, h.acked)
		for _, n := range s.nodes {
			st := n.states[g]
			require.Equal(t, first.digest, st.digest)
			require.Equal(t, first.seen, st.seen)
			require.Len(t, st.seen, len(h.index))
			_, stored := st.read(&pebble.IterOptions{})
			require.Equal(t, first.digest, stored)
			for _, number := range h.acked {
				require.True(t, st.seen[number], "command %d is lost", number)
			}
			for _, number := range h.rejected {
				require.False(t, st.seen[number], "command %d was rejected, and is applied", number)
			}
			require.Zero(t, n.groups[g].Status().Proposals)
			require.Zero(t, n.groups[g].Status().Reads)
		}
	}
	s.end()
	return s
}

// TestSimulation runs groups through lost, delayed, duplicated and reordered messages, partitions, crashes, slow and fast
// clocks, leadership transfers, long syncs, full disks and damaged logs. All replicas apply the same commands in the same order, exactly once. No acknowledged
// command is lost and no rejected one applied. Reads and lease holders see all previously acknowledged commands.
func TestSimulation(t *testing.T) {
	first, n, steps := uint64(0), seeds(16), 5000
	if testing.Short() {
		n, steps = 2, 2500
	}
	if s, err := strconv.ParseUint(os.Getenv("HOPGATE_SEED"), 10, 64); err == nil {
		first, n = s, 1
	}
	all := []uint64{41, 47} // have failed once
	if n != 16 {
		all = nil
	}
	for seed := first; seed < first+n; seed++ {
		all = append(all, seed)
	}
	total := map[string]int{}
	for _, seed := range all {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			s := simulate(t, seed, steps)
			for what, n := range s.count {
				total[what] += n
			}
			t.Logf("trace %x, %v", s.trace, s.count)
		})
	}
	if n != 16 {
		return
	}
	for _, what := range []string{
		"acked", "acked large", "ambiguous", "reads", "leased", "confirmed", "unconfirmed", "stops", "transfers", "cuts", "seeds", "crashes while seeding", "disks lost", "replaced",
		"long syncs", "full disks", "seeds without space", "damaged logs", "damage taken for a torn write",
	} {
		require.Positive(t, total[what], "no seed has "+what)
	}
}
