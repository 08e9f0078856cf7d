package quota

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

// set returns the definitions of some quotas.
func set(t testing.TB, old *definition.Set, all ...Quota) *definition.Set {
	t.Helper()
	for _, q := range all {
		c, err := Put(q)
		require.NoError(t, err)
		old, _, err = old.Apply(c)
		require.NoError(t, err)
	}
	return old
}

// What is wrong with a quota is named, and nothing is put.
func TestPut(t *testing.T) {
	entry := func(key string, v graph.Value) graph.MapEntry { return graph.MapEntry{Key: key, Value: v} }
	good := []graph.MapEntry{
		entry("name", graph.StringValue("q")), entry("for", graph.StringValue("everyone")), entry("amount", graph.IntValue(10)),
		entry("window", graph.StringValue("minute")),
	}
	q, err := FromMap(graph.MapValue(good))
	require.NoError(t, err)
	require.Equal(t, Quota{Name: "q", For: "everyone", Measure: Cost, Amount: 10, Window: Minute, Mode: Measured}, Quota{
		Name: q.Name, For: q.For, Measure: q.Measure, Amount: q.Amount, Window: q.Window, Mode: q.Mode, Each: q.Each,
	})
	for _, c := range []struct {
		key  string
		v    graph.Value
		want string
	}{
		{"name", graph.StringValue("a b"), `the name "a b"`},
		{"name", graph.IntValue(1), "the name of a quota must be a String"},
		{"for", graph.StringValue("role="), "for: must be everyone, token=NAME"},
		{"for", graph.StringValue("claim=plan"), "for: must be everyone"},
		{"for", graph.StringValue("everyone=x"), "for: must be everyone"},
		{"each", graph.StringValue("yes"), "the each of a quota must be a Boolean"},
		{"measure", graph.StringValue("bytes"), "the measure must be cost, cpu or requests"},
		{"amount", graph.FloatValue(1.5), "the amount 1.5 of cost must be whole"},
		{"amount", graph.IntValue(0), "the amount 0 must be above 0"},
		{"amount", graph.IntValue(1 << 60), "must be above 0, and at most 999999999999999"},
		{"amount", graph.StringValue("1"), "the amount of a quota must be a number"},
		{"window", graph.StringValue("week"), `the window must be second, minute, hour or day, is "week"`},
		{"mode", graph.StringValue("off"), "the mode must be measure or enforce"},
		{"limit", graph.IntValue(1), "a quota has no limit"},
	} {
		_, err := FromMap(graph.MapValue(append(append([]graph.MapEntry{}, good...), entry(c.key, c.v))))
		require.ErrorContains(t, err, c.want)
		require.Equal(t, "Neo.ClientError.Quota.Invalid", graph.AsError(err).Code)
	}
	_, err = FromMap(graph.IntValue(1))
	require.ErrorContains(t, err, "a quota is a map")
	_, err = Put(Quota{Name: "q", For: "everyone", Measure: CPU, Amount: .0001, Window: Hour, Mode: Enforced})
	require.ErrorContains(t, err, "must be above 0")
	_, err = Drop(nil, "q")
	require.ErrorContains(t, err, "no quota q")
}

func TestCounts(t *testing.T) {
	id := &access.Identity{
		Name: "ann", Issuer: "idp", Every: access.Reader, Roles: []string{"support"}, GraphRoles: map[string][]string{"g": {"local"}},
		Claims: map[string]graph.Value{
			"plan": graph.StringValue("free"), "level": graph.IntValue(3), "beta": graph.BoolValue(true), "part": graph.FloatValue(.5),
			"teams": graph.ListValue([]graph.Value{graph.StringValue("a"), graph.StringValue("b")}),
		},
	}
	for whom, want := range map[string]bool{
		"everyone": true, "token=ann": true, "token=bob": false, "role=support": true, "role=local": true, "role=reader": true, "role=writer": false,
		"claim=plan=free": true, "claim=plan=paid": false, "claim=none=": false, "claim=level=3": true, "claim=beta=true": true,
		"claim=part=0.50": true, "claim=teams=b": true, "claim=teams=c": false, "operation=op": true, "operation=other": false,
	} {
		q := Quota{Name: "q", For: whom, Measure: Cost, Amount: 1, Window: Day, Mode: Measured}
		require.NoError(t, q.complete())
		require.Equal(t, want, q.counts(id, "g", "op"), whom)
		require.Equal(t, whom == "everyone" || whom == "operation=op", q.counts(nil, "g", "op"), whom)
	}
}

// A caller takes from its own account, all of the windows' amounts, and from those that it shares.
func TestLedger(t *testing.T) {
	now := time.Unix(1_000_000_000, 0) // 20 s before a minute
	l := NewLedger(nil, func() time.Time { return now })
	s := set(t, nil,
		Quota{Name: "all", For: "everyone", Measure: Requests, Amount: 3, Window: Minute, Mode: Enforced},
		Quota{Name: "own", For: "role=reader", Each: true, Measure: Cost, Amount: 100, Window: Minute, Mode: Enforced},
		Quota{Name: "seen", For: "everyone", Measure: CPU, Amount: 1.5, Window: Hour, Mode: Measured})
	ann, bob := &access.Identity{Name: "ann", Every: access.Reader}, &access.Identity{Name: "bob", Every: access.Reader}
	require.Nil(t, l.Of("g", nil, ann, ""))
	require.NoError(t, (*Accounts)(nil).Enter())
	of := func(id *access.Identity) *Accounts { return l.Of("g", s, id, "") }
	require.Same(t, of(ann), of(ann))
	policy, left := of(ann).Fields()
	require.Equal(t, `"all";q=3;w=60, "own";q=100;w=60;hopgate-unit="cost"`, policy)
	require.Equal(t, `"all";r=3;t=20, "own";r=100;t=20`, left)

	require.NoError(t, of(ann).Enter())
	of(ann).Charge(cost.Cost{Visits: 90, Rows: 30, CPU: 2 * time.Second})
	err := of(ann).Enter()
	require.ErrorContains(t, err, "the quota own is used up, 100 units of cost a minute")
	require.Equal(t, graph.KindBusy, graph.AsError(err).Kind)
	require.Equal(t, 20*time.Second, graph.AsError(err).Retry)
	_, left = of(ann).Fields()
	require.Equal(t, `"all";r=2;t=20, "own";r=0;t=20`, left, "a refused request does not count")
	require.NoError(t, of(bob).Enter())
	require.NoError(t, of(nil).Enter())
	require.ErrorContains(t, of(bob).Enter(), "the quota all is used up, 3 requests a minute")

	states, err := l.List(t.Context(), "g", s)
	require.NoError(t, err)
	require.Len(t, states, 3)
	require.Equal(t, uint64(1), states[0].Refused)
	require.Equal(t, []Use{{Used: 3, Left: 0, Reset: 20 * time.Second, nanosOrUnit: 3}}, states[0].Uses)
	require.Equal(t, "ann", states[1].Uses[0].Account.Name)
	require.Equal(t, 120.0, states[1].Uses[0].Used)
	require.Equal(t, uint64(2), states[2].Refused, "what would have been refused")
	require.Equal(t, 2.0, states[2].Uses[0].Used)

	// Another amount keeps the accounts, another measure does not.
	s = set(t, s, Quota{Name: "own", For: "role=reader", Each: true, Measure: Cost, Amount: 121, Window: Minute, Mode: Enforced},
		Quota{Name: "all", For: "everyone", Measure: Cost, Amount: 3, Window: Minute, Mode: Enforced})
	require.NoError(t, of(ann).Enter())
	_, left = of(ann).Fields()
	require.Equal(t, `"all";r=3;t=20, "own";r=1;t=20`, left)

	now = now.Add(20 * time.Second)
	_, left = of(ann).Fields()
	require.Equal(t, `"all";r=3;t=60, "own";r=121;t=60`, left)

	metrics := l.Metrics(func(string) *definition.Set { return s })
	require.Len(t, metrics, 3)
	require.Equal(t, 2.0, metrics[2].Used)
	require.Empty(t, l.Metrics(func(string) *definition.Set { return nil }))
}

// Accounts of former windows are dropped.
func TestSweep(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	l := NewLedger(nil, func() time.Time { return now })
	s := set(t, nil, Quota{Name: "q", For: "everyone", Each: true, Measure: Requests, Amount: 1, Window: Second, Mode: Enforced})
	for i := range 4 * sweepFrom {
		id := &access.Identity{Name: time.Duration(i).String()}
		require.NoError(t, l.Of("g", s, id, "").Enter())
		require.Error(t, l.Of("g", s, id, "").Enter())
		if i%100 == 0 {
			now = now.Add(time.Second)
		}
	}
	require.Less(t, l.graphs["g"].meters[0].count, 2*sweepFrom)
}

func FuzzDecode(f *testing.F) {
	f.Add("q", []byte(`{"for":"claim=plan=free","each":true,"measure":"cpu","amount":0.5,"window":"hour","mode":"enforce"}`))
	f.Add("q", []byte(`{"for":"everyone","measure":"cost","amount":1e300,"window":"day","mode":"measure"}`))
	f.Add("q", []byte(`{} {}`))
	f.Fuzz(func(t *testing.T, name string, value []byte) {
		q, err := decode(name, value)
		if err != nil {
			return
		}
		require.Positive(t, q.limit)
		require.Positive(t, q.every)
		again, err := json.Marshal(q)
		require.NoError(t, err)
		same, err := decode(name, again)
		require.NoError(t, err)
		require.Equal(t, q, same)
	})
}
