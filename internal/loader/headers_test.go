package loader

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A header of neo4j-admin with all types and options, in a file of its own, names the columns of the parts beside it.
func TestHeaderFiles(t *testing.T) {
	files := func() *world {
		w := newWorld(t)
		w.file("person_header.csv", `"id:ID(People){label:Person,id-type:long}",:LABEL,n:int,b:byte,s:short,f:float,ok:boolean,c:char,name:string,"at:point{crs:cartesian}",`+
			`"g:point{crs:WGS-84-3D}",d:date,lt:localtime,"t:time{timezone:+02:00}",ldt:localdatetime,"dt:datetime{timezone:Europe/Stockholm}",p:duration,tags:string[],`+
			`ns:long[],secret:IGNORE,:IGNORE`+"\n")
		w.file("person_part1.csv", `1,"A;B",2,3,4,1.5,true,x,"a ""b""","{x: 1.0, y: 2}","{x: 1, y: 2, z: 3}",2020-02-29,10:00,10:00,2020-01-01T00:00,2020-07-01T10:00,P1DT2S,a;b,1;2,no,no`+"\n")
		w.file("person_part2.csv", "2,,,,,,,,,,,,,,,,,,,no,no")
		w.file("person_knows-header.csv", ":START_ID(People),since:int,:END_ID(People),:TYPE\n")
		w.file("person_knows-part000.csv", "1,7,2,KNOWS\n")
		return w
	}
	w := files()
	w.file("city.csv", "id:ID(C),:LABEL\nx,City\n")
	rep, err := w.load("", Options{})
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 4, Vertices: 3, Edges: 1}, rep.Totals)
	state := w.state()
	for _, want := range []string{
		`:City {id: "x"}`, "{id: 2}", "b: 3,", "c: \"x\",", "f: 1.5,", "n: 2,", "s: 4,", "ok: true", `name: "a \"b\""`, "{x: 1.0, y: 2.0, crs: 'cartesian'}", "longitude: 1.0, latitude: 2.0, height: 3.0",
		"2020-02-29", "10:00:00+02:00", "2020-07-01T10:00:00+02:00[Europe/Stockholm]", "P1DT2S", `tags: ["a" "b"]`, "ns: [1 2]", "KNOWS", "{since: 7}",
	} {
		require.Contains(t, state, want)
	}
	require.NotContains(t, state, "secret")
	require.NotContains(t, state, `"no"`)

	w = files()
	p, err := NewHeaderPlan(t.Context(), HeaderOptions{
		Nodes:         []string{filepath.Join(w.dir, "person_header.csv") + "," + filepath.Join(w.dir, `person_part\d+[.]csv`)},
		Relationships: []string{filepath.Join(w.dir, "person_knows-header.csv") + "," + filepath.Join(w.dir, "person_knows-part.*")},
	})
	require.NoError(t, err)
	rep, err = p.Run(t.Context(), NewLocal(w.l), Options{})
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 3, Vertices: 2, Edges: 1}, rep.Totals)

	for header, want := range map[string]string{
		`:ID,d:date{timezone:UTC}`:    `a column of type date has no option "timezone"`,
		`:ID,p:point{crs:mars}`:       `unknown coordinate reference system "mars"`,
		`:ID,d:datetime{timezon:UTC}`: `a column of type datetime has no option "timezon"`,
	} {
		w = newWorld(t)
		w.file("bad.csv", header+"\n")
		_, err = w.loadFiles(Options{}, "bad.csv")
		require.ErrorContains(t, err, want)
	}
}
