package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cli"
)

// Quotas are put, listed and dropped, also by who has used one up.
func TestQuota(t *testing.T) {
	a, _ := serve(t)
	good := func(args ...string) string {
		t.Helper()
		out, errs, code := ctl(a.Address, "", append([]string{"quota"}, args...)...)
		require.Zero(t, code, errs)
		return out
	}
	const head = "name,for,each,measure,amount,window,mode,refused,account,used,remaining,reset\n"
	require.Equal(t, head, good("list", "-o", "csv"))
	good("put", "agents", "--for", "role=agent", "--each", "--amount", "20000", "--mode", "enforce")
	good("put", "all", "--measure", "requests", "--amount", "2", "--window", "day", "--mode", "enforce")
	good("put", "all", "--measure", "cpu", "--amount", "0.5", "--window", "hour")
	require.Regexp(t, `^`+head+"agents,role=agent,true,cost,20000.*,minute,enforce,0,,0.*,20000.*,\nall,everyone,false,cpu,0.5,hour,measure,0,,[0-9.e-]+,0.[0-9]+,[0-9]+\n$",
		good("list", "-o", "csv"))
	good("put", "all", "--measure", "requests", "--amount", "1", "--window", "day", "--mode", "enforce")
	_, errs, code := ctl(a.Address, "", "query", "RETURN 1")
	require.Zero(t, code, errs)
	_, errs, code = ctl(a.Address, "", "query", "RETURN 1")
	require.NotZero(t, code)
	require.Contains(t, errs, "the quota all is used up, 1 requests a day")
	require.Contains(t, good("list", "-o", "csv"), "all,everyone,false,requests,1")
	good("drop", "all")
	for want, args := range map[string][]string{
		"quota: name a command":           nil,
		`required flag(s) "amount"`:       {"put", "x"},
		"for: must be everyone":           {"put", "x", "--amount", "1", "--for", "us"},
		"accepts 1 arg":                   {"drop"},
		"the graph has no quota all":      {"drop", "all"},
		"the window must be second, minu": {"put", "x", "--amount", "1", "--window", "week"},
	} {
		_, errs, code := ctl(a.Address, "", append([]string{"quota"}, args...)...)
		require.Contains(t, []int{cli.Usage, cli.Failed}, code)
		require.Contains(t, errs, want)
	}
}
