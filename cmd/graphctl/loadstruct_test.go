package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Values that Arrow and Parquet have as structs alone, alone and in lists, load from what a query has written, by type, as any, and by a
// proposed mapping. A rule may still take a field by its path.
func TestLoadStructs(t *testing.T) {
	from, _ := serve(t)
	_, errs, code := ctl(from.Address, "", "query", `UNWIND [
		{p: point({x: 1, y: -2.5}), d: duration('P-1Y2DT-3.000000001S'), t: time('10:00:00.5+02:00'), z: datetime('2020-07-01T10:00[Europe/Stockholm]')},
		{p: point({longitude: 12.5, latitude: 55, height: 1e21}), d: duration('PT0S'), t: time('23:59:59-11:30'), z: datetime('1969-12-31T23:59:59.123+05:30')},
		{p: point({x: 1e-9, y: 0, z: -0.0}), d: duration('P1M'), t: time('00:00Z'), z: datetime('2020-01-01T00:00Z')}
	] AS v CREATE (n:T {lp: [v.p, v.p], ld: [v.d], lt: [v.t, v.t, v.t], lz: [v.z]}) SET n += v CREATE (:T {lp: [], lt: []})`)
	require.Zero(t, code, errs)
	const read = `MATCH (n:T) RETURN n.p AS p, n.d AS d, n.t AS t, n.z AS z, n.lp AS lp, n.ld AS ld, n.lt AS lt, n.lz AS lz,
		[k IN ['p', 'd', 't', 'z', 'lp'] | valueType(n[k])] AS types ORDER BY toString(n.p), id(n)`
	want, errs, code := ctl(from.Address, "", "query", "-o", "ndjson", read)
	require.Zero(t, code, errs)
	const typed = "p: {type: point}, d: {type: duration}, t: {type: time}, z: {type: datetime}, lp: {type: 'point[]'}, ld: {type: 'duration[]'}, lt: {type: 'time[]'}, lz: {type: 'datetime[]'}"
	untyped := strings.NewReplacer("point", "any", "duration", "any", "datetime", "any", "time", "any").Replace(typed)
	untyped = strings.ReplaceAll(untyped, "'any[]'", "any")
	for _, form := range []string{"arrow", "parquet"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "T."+form)
		text, errs, code := ctl(from.Address, "", "query", "-o", form, "MATCH (n:T) RETURN id(n) AS id, n.p AS p, n.d AS d, n.t AS t, n.z AS z, n.lp AS lp, n.ld AS ld, n.lt AS lt, n.lz AS lz")
		require.Zero(t, code, errs)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		proposed, errs, code := ctl(from.Address, "", "load", "--init", name)
		require.Zero(t, code, errs)
		require.Contains(t, proposed, "{type: any}")
		for _, m := range []string{
			"version: 1\ninputs: [{path: T." + form + ", vertices: [{label: T, id: id, properties: {" + typed + "}}]}]",
			"version: 1\ninputs: [{path: T." + form + ", vertices: [{label: T, id: id, properties: {" + untyped + "}}]}]",
			proposed,
		} {
			to, _ := serve(t)
			mapping := filepath.Join(dir, "m.yaml")
			require.NoError(t, os.WriteFile(mapping, []byte(m), 0o600))
			_, errs, code = ctl(to.Address, "", "load", "--dir", dir, mapping)
			require.Zero(t, code, "%s %s", errs, m)
			got, errs, code := ctl(to.Address, "", "query", "-o", "ndjson", read)
			require.Zero(t, code, errs)
			require.Equal(t, want, got, m)
		}
		to, _ := serve(t)
		m := "version: 1\ninputs: [{path: T." + form + ", vertices: [{label: T, id: id, properties: {x: {column: p.x, type: float}}}]}]"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "m.yaml"), []byte(m), 0o600))
		_, errs, code = ctl(to.Address, "", "load", filepath.Join(dir, "m.yaml"))
		require.Zero(t, code, errs)
		got, _, _ := ctl(to.Address, "", "query", "-o", "csv", "MATCH (n:T) RETURN sum(n.x) AS x")
		require.Equal(t, "x\n13.500000001\n", got)
	}
}
