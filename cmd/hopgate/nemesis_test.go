package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/faultnet"
)

// nemesis is a cluster of three processes with replicas of each shard and two gateways, to which faults happen. Its nodes are the
// processes and, behind them, the gateways.
type nemesis struct {
	t    *testing.T
	rng  *rand.Rand
	net  *faultnet.Net
	dirs []string // of the processes
	ss   []*process
	gs   []*process
	h    *history
	ends []func() // what holds in the end
}

const (
	nemesisProcesses, nemesisGateways = 3, 2
	stopped, longStopped              = 500 * time.Millisecond, 2500 * time.Millisecond
)

// leader returns the number of the process that leads the replicas of a shard.
func (n *nemesis) leader(shard int) int { return slices.Index(n.ss, leaderOf(n.t, n.ss, shard)) }

// between returns a random time.
func (n *nemesis) between(least, most time.Duration) time.Duration {
	return least + time.Duration(n.rng.Int64N(int64(most-least)))
}

// progress waits until clients of all gateways have written something, which they have begun since or shortly before.
func (n *nemesis) progress() {
	var want [nemesisGateways]int64
	for g := range want {
		want[g] = n.h.done[g].Load() + 20
	}
	eventually(n.t, func() bool {
		for g := range want {
			if n.h.done[g].Load() < want[g] {
				return false
			}
		}
		return true
	}, 5*time.Millisecond, "nothing is written any more")
}

// kill kills processes at once and starts them again after a time; with less than a majority dead, clients go on meanwhile.
func (n *nemesis) kill(victims ...int) {
	for _, v := range victims {
		n.ss[v].signal(syscall.SIGKILL)
	}
	for _, v := range victims {
		n.ss[v].kill(syscall.SIGKILL)
	}
	if len(victims) == 1 && n.rng.IntN(2) == 0 {
		n.progress()
	} else {
		time.Sleep(n.between(0, time.Second))
	}
	for _, v := range victims {
		n.ss[v].start()
	}
}

// stop stops a process for a time of at least least.
func (n *nemesis) stop(victim int, least time.Duration) {
	p := n.ss[victim].cmd.Process
	require.NoError(n.t, p.Signal(syscall.SIGSTOP))
	time.Sleep(n.between(least, least+2*time.Second))
	require.NoError(n.t, p.Signal(syscall.SIGCONT))
}

// part loses what is sent between nodes, or refuses to send it, for a time.
func (n *nemesis) part(where func(from, to int) bool) {
	if n.rng.IntN(2) == 0 {
		n.net.Block(where)
	} else {
		n.net.Cut(where)
	}
	time.Sleep(n.between(1500*time.Millisecond, 4*time.Second))
	n.net.Heal()
}

// faults is what happens to a cluster.
var faults = []struct {
	name   string
	happen func(n *nemesis)
}{
	{"kill the leader of the cluster", func(n *nemesis) { n.kill(n.leader(0)) }},
	{"cut the leader of the cluster off, with a gateway", func(n *nemesis) {
		away := []int{n.leader(0), nemesisProcesses + n.rng.IntN(nemesisGateways)}
		n.part(func(from, to int) bool { return slices.Contains(away, from) != slices.Contains(away, to) })
	}},
	{"stop the leader of the cluster", func(n *nemesis) { n.stop(n.leader(0), stopped) }},
	{"stop the leader of the cluster, which one gateway sees go away", func(n *nemesis) {
		away, gateway := n.leader(0), nemesisProcesses+n.rng.IntN(nemesisGateways)
		n.net.Cut(func(from, to int) bool { return from == gateway && to == away })
		n.stop(away, longStopped) // others have elected another one meanwhile
		n.net.Heal()
	}},
	{"kill the leader of a shard", func(n *nemesis) { n.kill(n.leader(1 + n.rng.IntN(2))) }},
	{"kill two", func(n *nemesis) {
		alive := n.rng.IntN(nemesisProcesses)
		n.kill((alive+1)%nemesisProcesses, (alive+2)%nemesisProcesses)
	}},
	{"let a leader send nothing", func(n *nemesis) {
		away := n.leader(n.rng.IntN(nemesisProcesses))
		n.part(func(from, to int) bool { return from == away })
	}},
	{"kill all", func(n *nemesis) { n.kill(0, 1, 2) }},
	{"cut links at random", func(n *nemesis) {
		for range 10 + n.rng.IntN(10) {
			which := n.rng.Uint64()
			set := n.net.Block
			if n.rng.IntN(2) == 0 {
				set = n.net.Cut
			}
			set(func(from, to int) bool { return which>>(from*(nemesisProcesses+nemesisGateways)+to)&1 == 1 })
			time.Sleep(n.between(20*time.Millisecond, 300*time.Millisecond))
		}
		n.net.Heal()
	}},
	{"kill one that follows", func(n *nemesis) { n.kill((n.leader(0) + 1 + n.rng.IntN(2)) % nemesisProcesses) }},
	{"let a leader receive nothing", func(n *nemesis) {
		away := n.leader(n.rng.IntN(nemesisProcesses))
		n.part(func(from, to int) bool { return to == away && from < nemesisProcesses })
	}},
	{"stop one that follows", func(n *nemesis) { n.stop((n.leader(0)+1+n.rng.IntN(2))%nemesisProcesses, stopped) }},
	{"let each process send to one other only", func(n *nemesis) {
		n.part(func(from, to int) bool { return from < nemesisProcesses && to == (from+1)%nemesisProcesses })
	}},
	{"cut the leader of the cluster off from its gateways", func(n *nemesis) {
		away := n.leader(0)
		n.part(func(from, to int) bool {
			return from == away && to >= nemesisProcesses || to == away && from >= nemesisProcesses
		})
	}},
	{"kill a gateway", func(n *nemesis) {
		g := n.gs[n.rng.IntN(nemesisGateways)]
		g.kill(syscall.SIGKILL)
		time.Sleep(n.between(0, time.Second))
		g.start()
	}},
	{"slow the links of the leader of the cluster down", func(n *nemesis) {
		slow, way := n.leader(0), n.rng.IntN(3)
		n.net.Slow(n.between(20*time.Millisecond, 300*time.Millisecond), func(from, to int) bool { return from == slow && way != 0 || to == slow && way != 1 })
		time.Sleep(n.between(time.Second, 3*time.Second))
		n.net.Slow(0, func(int, int) bool { return true })
	}},
	{"let the links of the leader of the cluster flap", func(n *nemesis) {
		away := n.leader(0)
		for range 10 {
			n.net.Block(func(from, to int) bool { return from == away || to == away })
			time.Sleep(n.between(50*time.Millisecond, 500*time.Millisecond))
			n.net.Heal()
			time.Sleep(n.between(50*time.Millisecond, 300*time.Millisecond))
		}
	}},
	{"stop the leader of the cluster for moments, within commits", func(n *nemesis) {
		p := n.ss[n.leader(0)].cmd.Process
		for range 10 {
			time.Sleep(n.between(time.Millisecond, 50*time.Millisecond))
			require.NoError(n.t, p.Signal(syscall.SIGSTOP))
			time.Sleep(n.between(10*time.Millisecond, 700*time.Millisecond))
			require.NoError(n.t, p.Signal(syscall.SIGCONT))
		}
	}},
	{"create, fill and drop graphs", (*nemesis).graphs},
	{"build an index", (*nemesis).index},
	{"load", (*nemesis).load},
	{"back up", (*nemesis).backup},
	{"expire vertices", (*nemesis).expire},
	{"replace a process that has lost its disk", (*nemesis).replace},
	{"transfer leads", (*nemesis).transfer},
}

// Faults happen to a cluster of real processes while clients of two gateways read, write and swap registers, move money and make
// edges, and while others load, back up, build indexes and change graphs and members. The registers are linearizable, the sum of the
// money is the same in each snapshot, both ends of an edge agree, what was acknowledged is there, and what was refused is not; loads have
// each row once, indexes what scans find, and replicas the same. HOPGATE_SEEDS is the number of random seeds to run instead of the fixed ones. A
// seed that failed once is one of them.
func TestNemesis(t *testing.T) {
	const each = 4 // faults of a seed
	seeds := []uint64{1, 2, 3, 4, 5, 6, 7}
	if testing.Short() {
		seeds = seeds[:1]
	}
	if k := rounds(0); k > 0 {
		seeds = nil
		for range k {
			seeds = append(seeds, rand.Uint64N(1_000_000))
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			k := each
			if testing.Short() {
				k--
			}
			var happen []int
			for i := range k {
				happen = append(happen, (int(seed-1)*each+i)%len(faults))
			}
			runNemesis(t, seed, happen)
		})
	}
}

func runNemesis(t *testing.T, seed uint64, happen []int) {
	const nodes = nemesisProcesses + nemesisGateways
	targets, dirs := make([]string, nodes), make([]string, nemesisProcesses)
	for i := range dirs {
		targets[i], dirs[i] = freeAddress(t), t.TempDir()
	}
	net, err := faultnet.New(targets, 0)
	require.NoError(t, err)
	t.Cleanup(net.Close)
	ss, gs := startNamed(t, dirs, targets[:nemesisProcesses], nemesisGateways, func(no int) []string { return net.Addresses(no, nemesisProcesses) }, "--replicas", "3")
	n := &nemesis{t: t, rng: rand.New(rand.NewPCG(seed, 0)), net: net, dirs: dirs, ss: ss, gs: gs, h: newHistory(t, []string{gs[0].http, gs[1].http})}
	end := n.h.run()
	t.Cleanup(end)
	n.progress()
	for _, i := range happen {
		began := time.Now()
		t.Log(time.Since(n.h.began).Round(time.Millisecond), faults[i].name)
		faults[i].happen(n)
		healed := time.Now()
		n.progress()
		t.Log(healed.Sub(began).Round(time.Millisecond), "until it was over,", time.Since(healed).Round(time.Millisecond), "until all clients had written again")
	}
	end()
	n.h.check()
	for _, holds := range n.ends {
		holds()
	}
	o := run(t, []string{"GRAPHCTL_ADDRESS=" + gs[0].grpc}, "graphctl", "check")
	require.Zero(t, o.code, o.err)
	require.Contains(t, o.out, "nothing is wrong")
}
