package main_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// register is an operation on the value of one vertex, as the history has it.
type register struct {
	kind     string // read, write, cas
	key      int
	old, new int
}

// registered is how it ended.
type registered struct {
	value   int  // what a read has returned
	swapped bool // whether a compare-and-swap has found the old value
	unknown bool // the operation may have happened, at any time since, or not
}

// registers is the model of registers that hold 0 at first. An operation of unknown outcome has no end: one that did not happen has
// its place behind all others.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int][]porcupine.Operation{}
		for _, o := range history {
			k := o.Input.(register).key
			byKey[k] = append(byKey[k], o)
		}
		var out [][]porcupine.Operation
		for _, ops := range byKey {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		in, out := input.(register), output.(registered)
		switch {
		case in.kind == "read":
			return out.value == state, state
		case in.kind == "write":
			return true, in.new
		case state == in.old:
			return out.unknown || out.swapped, in.new
		default:
			return out.unknown || !out.swapped, state
		}
	},
	DescribeOperation: func(input, output any) string {
		in, out := input.(register), output.(registered)
		what := fmt.Sprintf("%s %d: %d", in.kind, in.key, in.new)
		switch in.kind {
		case "read":
			what = fmt.Sprintf("read %d: %d", in.key, out.value)
		case "cas":
			what = fmt.Sprintf("cas %d: %d to %d, %v", in.key, in.old, in.new, out.swapped)
		}
		if out.unknown {
			what += ", unknown"
		}
		return what
	},
}

// TestRegisters expects the model to tell linearizable histories from others.
func TestRegisters(t *testing.T) {
	read := func(v int, from, to int64) porcupine.Operation {
		return porcupine.Operation{Input: register{kind: "read"}, Output: registered{value: v}, Call: from, Return: to}
	}
	write := func(v int, from, to int64, unknown bool) porcupine.Operation {
		return porcupine.Operation{Input: register{kind: "write", new: v}, Output: registered{unknown: unknown}, Call: from, Return: to}
	}
	cas := func(old, to int, swapped, unknown bool, call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: register{kind: "cas", old: old, new: to}, Output: registered{swapped: swapped, unknown: unknown}, Call: call, Return: end}
	}
	for name, c := range map[string]struct {
		want bool
		ops  []porcupine.Operation
	}{
		"a stale read":                      {false, []porcupine.Operation{write(1, 0, 1, false), read(0, 2, 3)}},
		"a read beside a write":             {true, []porcupine.Operation{write(1, 0, 3, false), read(0, 1, 2)}},
		"a read that goes back":             {false, []porcupine.Operation{write(1, 0, 9, false), read(1, 1, 2), read(0, 3, 4)}},
		"an unknown write that comes late":  {true, []porcupine.Operation{write(1, 0, math.MaxInt64, true), read(0, 1, 2), read(1, 3, 4)}},
		"an unknown write that never comes": {true, []porcupine.Operation{write(1, 0, math.MaxInt64, true), read(0, 1, 2)}},
		"an unknown write that comes twice": {
			false, []porcupine.Operation{write(1, 0, math.MaxInt64, true), read(1, 1, 2), write(2, 3, 4, false), read(2, 5, 6), read(1, 7, 8)},
		},
		"a failed write that is read":     {false, []porcupine.Operation{read(1, 1, 2)}},
		"two swaps of one value":          {false, []porcupine.Operation{cas(0, 1, true, false, 0, 1), cas(0, 2, true, false, 2, 3)}},
		"a swap and one that finds it":    {true, []porcupine.Operation{cas(0, 1, true, false, 0, 1), cas(0, 2, false, false, 2, 3)}},
		"a refused swap of the value":     {false, []porcupine.Operation{cas(0, 1, false, false, 0, 1)}},
		"an unknown swap that comes late": {true, []porcupine.Operation{cas(0, 1, false, true, 0, math.MaxInt64), read(0, 1, 2), read(1, 3, 4)}},
		"an unknown swap of another":      {false, []porcupine.Operation{cas(5, 1, false, true, 0, math.MaxInt64), read(1, 3, 4)}},
	} {
		require.Equal(t, c.want, porcupine.CheckOperations(registers, c.ops), name)
	}
}

const (
	keysAtATime, opsOfThem = 4, 300 // keys in use, and after how many operations others follow
	allKeys                = 2000   // that are there
	accounts, balance      = 5, 100 // of the bank
	longestCall            = 20 * time.Second
	shortCall              = time.Second // of impatient clients, at most
)

// history is what clients of gateways do and observe.
type history struct {
	t        *testing.T
	gateways []string // their HTTP addresses
	began    time.Time
	next     atomic.Int64   // value, id or client
	done     []atomic.Int64 // by gateway, registers that were written

	mu     sync.Mutex
	ops    []porcupine.Operation
	last   map[int]int // by key, a value that it had
	chosen int         // keys so far
	ends   map[int]error
	counts map[string]int
}

// errUnknown is the end of an operation that may have happened.
var errUnknown = errors.New("unknown")

// newHistory makes what the clients work on.
func newHistory(t *testing.T, gateways []string) *history {
	h := &history{t: t, gateways: gateways, began: time.Now(), done: make([]atomic.Int64, len(gateways)), last: map[int]int{}, ends: map[int]error{}, counts: map[string]int{}}
	for _, s := range []string{
		"CREATE CONSTRAINT keys FOR (k:Key) REQUIRE k.id IS UNIQUE", "CREATE CONSTRAINT accounts FOR (a:Account) REQUIRE a.id IS UNIQUE",
		fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:Key {id: i, v: 0})", allKeys-1),
		fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:Account {id: i, balance: %d})", accounts-1, balance),
	} {
		_, err := ask(gateways[0], s)
		require.NoError(t, err, s)
	}
	return h
}

// ask runs a statement at a gateway, or a step of an explicit transaction. An error is errUnknown, or says that nothing happened.
func (h *history) ask(gateway int, method, path, statement string, params map[string]any) (*reply, error) {
	limit := longestCall
	if rand.IntN(3) == 0 {
		limit = rand.N(shortCall)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, err := call(ctx, method, "http://"+h.gateways[gateway]+"/db/default/query/v2"+path, statement, params)
	var a answered
	switch {
	case err == nil:
		return r, nil
	case !errors.As(err, &a):
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err
		}
		err = errUnknown
	case a.status == http.StatusGatewayTimeout:
		err = errUnknown
	case !strings.HasPrefix(a.code, "Neo.TransientError.") && a.code != "Neo.ClientError.Transaction.TransactionTimedOut":
		h.t.Errorf("%s %q gave %v", path, statement, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[err.Error()]++
	return nil, err
}

// transaction runs two statements in an explicit one, the second with the rows of the first, unless second returns false.
func (h *history) transaction(gateway int, first string, params map[string]any, second func(rows [][]any) (string, map[string]any, bool)) error {
	r, err := h.ask(gateway, http.MethodPost, "/tx", first, params)
	if err != nil {
		return errors.New("not begun")
	}
	statement, params, commit := second(r.Data.Values)
	if !commit {
		_, _ = h.ask(gateway, http.MethodDelete, "/tx/"+r.Transaction.ID, "", nil)
		return nil
	}
	_, err = h.ask(gateway, http.MethodPost, "/tx/"+r.Transaction.ID+"/commit", statement, params)
	return err
}

// register reads, writes or swaps the value of a key.
func (h *history) register(gateway int, client *int) {
	h.mu.Lock()
	key := min(h.chosen/opsOfThem*keysAtATime, allKeys-keysAtATime) + rand.IntN(keysAtATime)
	h.chosen++
	in := register{kind: "read", key: key, old: h.last[key]}
	h.mu.Unlock()
	params := map[string]any{"key": key}
	if kind := rand.IntN(5); kind > 1 {
		in.kind, in.new = "write", int(h.next.Add(1))
		if kind > 2 {
			in.kind = "cas"
			params["old"] = in.old
		}
		params["new"] = in.new
	}
	out, value := registered{}, in.new
	call := time.Since(h.began).Nanoseconds()
	var err error
	switch {
	case in.kind == "cas" && rand.IntN(2) == 0:
		err = h.transaction(gateway, "MATCH (k:Key {id: $key}) RETURN k.v", params, func(rows [][]any) (string, map[string]any, bool) {
			out.swapped = len(rows) == 1 && rows[0][0] == float64(in.old)
			return "MATCH (k:Key {id: $key}) SET k.v = $new", params, out.swapped
		})
	default:
		var r *reply
		r, err = h.ask(gateway, http.MethodPost, "", map[string]string{
			"read": "MATCH (k:Key {id: $key}) RETURN k.v", "write": "MATCH (k:Key {id: $key}) SET k.v = $new",
			"cas": "MATCH (k:Key {id: $key}) WHERE k.v = $old SET k.v = $new RETURN k.id",
		}[in.kind], params)
		switch {
		case err != nil:
		case in.kind == "read" && (len(r.Data.Values) != 1 || len(r.Data.Values[0]) != 1):
			h.t.Errorf("key %d has the rows %v", key, r.Data.Values)
		case in.kind == "read":
			value = int(r.Data.Values[0][0].(float64))
			out.value = value
		case in.kind == "cas":
			out.swapped = len(r.Data.Values) == 1
		}
	}
	end := time.Since(h.began).Nanoseconds()
	if err != nil && (!errors.Is(err, errUnknown) || in.kind == "read") {
		return // it did not happen
	}
	o := porcupine.Operation{ClientId: *client, Input: in, Call: call, Return: end}
	if err != nil {
		out.unknown, o.Return = true, math.MaxInt64
		*client = int(h.next.Add(1)) // nothing follows an operation that does not end
	} else if in.kind != "read" {
		h.done[gateway].Add(1)
	}
	o.Output = out
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
	if err == nil && (in.kind != "cas" || out.swapped) {
		h.last[key] = value
	}
}

// bank moves money between two accounts, by a statement or a transaction, or adds all up.
func (h *history) bank(gateway int) {
	from := rand.IntN(accounts)
	to := (from + 1 + rand.IntN(accounts-1)) % accounts
	params := map[string]any{"from": from, "to": to, "n": 1 + rand.IntN(20)}
	switch rand.IntN(3) {
	case 0:
		_, _ = h.ask(gateway, http.MethodPost, "", "MATCH (a:Account {id: $from}), (b:Account {id: $to}) WHERE a.balance >= $n SET a.balance = a.balance - $n, b.balance = b.balance + $n", params)
	case 1:
		_ = h.transaction(gateway, "MATCH (a:Account {id: $from}), (b:Account {id: $to}) RETURN a.balance, b.balance", params, func(rows [][]any) (string, map[string]any, bool) {
			if len(rows) != 1 {
				h.t.Errorf("the accounts %d and %d have the rows %v", from, to, rows)
				return "", nil, false
			}
			a, b, n := rows[0][0].(float64), rows[0][1].(float64), float64(params["n"].(int))
			return "MATCH (a:Account {id: $from}), (b:Account {id: $to}) SET a.balance = $a, b.balance = $b", map[string]any{"from": from, "to": to, "a": int(a - n), "b": int(b + n)}, a >= n
		})
	default:
		r, err := h.ask(gateway, http.MethodPost, "", "MATCH (a:Account) RETURN count(a), sum(a.balance)", nil)
		if err == nil && (len(r.Data.Values) != 1 || !slices.Equal(r.Data.Values[0], []any{float64(accounts), float64(accounts * balance)})) {
			h.t.Errorf("gateway %d: the accounts and their sum are %v", gateway, r.Data.Values)
		}
	}
}

// edge makes an edge with new vertices, or reads all edges from both ends.
func (h *history) edge(gateway int) {
	if rand.IntN(10) == 0 {
		_ = h.edges(gateway)
		return
	}
	id := int(h.next.Add(1))
	_, err := h.ask(gateway, http.MethodPost, "", "CREATE (:L {id: $id})-[:E {id: $id}]->(:R {id: $id})", map[string]any{"id": id})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends[id] = err
}

// edges compares the edges at both ends with each other, and with those whose outcome was known before they were read.
func (h *history) edges(gateway int) error {
	h.mu.Lock()
	known := maps.Clone(h.ends)
	h.mu.Unlock()
	r, err := h.ask(gateway, http.MethodPost, "", `OPTIONAL MATCH (a:L) OPTIONAL MATCH (a)-[e:E]->() WITH collect(e.id) AS there
		OPTIONAL MATCH (b:R) OPTIONAL MATCH (b)<-[e:E]-() RETURN there, collect(e.id)`, nil)
	if err != nil {
		return err
	}
	var ends [2]map[int]int
	for i := range ends {
		ends[i] = map[int]int{}
		for _, id := range r.Data.Values[0][i].([]any) {
			ends[i][int(id.(float64))]++
		}
	}
	for id, n := range ends[0] {
		if n != 1 || ends[1][id] != 1 {
			h.t.Errorf("gateway %d: edge %d is at one end %d times, at the other %d", gateway, id, n, ends[1][id])
		}
	}
	if len(ends[0]) != len(ends[1]) {
		h.t.Errorf("gateway %d: %d edges at one end, %d at the other", gateway, len(ends[0]), len(ends[1]))
	}
	for id, err := range known {
		switch there := ends[0][id] > 0; {
		case err == nil && !there:
			h.t.Errorf("gateway %d: edge %d was acknowledged and is lost", gateway, id)
		case err != nil && !errors.Is(err, errUnknown) && there:
			h.t.Errorf("gateway %d: edge %d is there, and was refused: %v", gateway, id, err)
		}
	}
	return nil
}

// run has clients of all gateways work until end is called.
func (h *history) run() (end func()) {
	const writers = 3
	return until(len(h.gateways)*(writers+2), func() func(i int) {
		clients := make([]int, len(h.gateways)*(writers+2))
		for i := range clients {
			clients[i] = int(h.next.Add(1))
		}
		return func(i int) {
			gateway := i % len(h.gateways)
			switch i / len(h.gateways) {
			case 0:
				h.bank(gateway)
			case 1:
				h.edge(gateway)
			default:
				h.register(gateway, &clients[i])
			}
			time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
		}
	}())
}

// check expects all that was observed to be right. Clients have ended, and the cluster is whole.
func (h *history) check() {
	for gateway := range h.gateways {
		eventually(h.t, func() bool { return h.edges(gateway) == nil }, 20*time.Millisecond)
	}
	result, info := porcupine.CheckOperationsVerbose(registers, h.ops, 5*time.Minute)
	if result != porcupine.Ok {
		f, err := os.CreateTemp("", "hopgate-history-*.html")
		require.NoError(h.t, err)
		require.NoError(h.t, porcupine.Visualize(registers, info, f))
		require.NoError(h.t, f.Close())
		h.t.Errorf("the registers are not linearizable: %s; %s shows why", result, f.Name())
	}
	unknown := 0
	for i := range h.ops {
		if h.ops[i].Output.(registered).unknown {
			unknown++
		}
	}
	h.t.Logf("%d operations on registers, %d unknown; %d edges; errors: %v", len(h.ops), unknown, len(h.ends), h.counts)
}
