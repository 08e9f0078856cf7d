package graph

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every form that a point is written in is read back.
func TestPointText(t *testing.T) {
	for _, c := range []struct {
		p   Point
		wkt string
	}{
		{Point{CRS: Cartesian, X: 1, Y: -2.5}, "SRID=7203;POINT (1.0 -2.5)"},
		{Point{CRS: Cartesian3D, X: 1, Y: 2, Z: 3}, "SRID=9157;POINT Z (1.0 2.0 3.0)"},
		{Point{CRS: WGS84, X: 12.5, Y: 55}, "SRID=4326;POINT (12.5 55.0)"},
		{Point{CRS: WGS843D, X: 1, Y: 2, Z: 1e21}, "SRID=4979;POINT Z (1.0 2.0 1000000000000000000000.0)"},
	} {
		require.Equal(t, c.wkt, string(c.p.AppendWKT(nil)))
		for _, text := range []string{c.wkt, string(c.p.Append(nil))} {
			p, err := ParsePoint(text)
			require.NoError(t, err, text)
			require.Equal(t, c.p, p, text)
		}
	}
	for text, want := range map[string]Point{
		"POINT(1 2)":                           {CRS: Cartesian, X: 1, Y: 2},
		" srid=4326; point z (1 2 3)":          {},
		"{latitude: 55.5, longitude: 12}":      {CRS: WGS84, X: 12, Y: 55.5},
		`{"x":1,"y":2,"crs":"cartesian"}`:      {CRS: Cartesian, X: 1, Y: 2},
		"{x: 1, y: 2, z: 3, crs: 'WGS-84-3D'}": {CRS: WGS843D, X: 1, Y: 2, Z: 3},
	} {
		p, err := ParsePoint(text)
		if want.CRS == 0 {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, p, text)
	}
	for _, text := range []string{"", "x", "POINT", "POINT (1)", "POINT (a b)", "SRID=1;POINT (1 2)", "{x: 1}", "{x}", "{x: 1, longitude: 2, y: 3}", "{x: 1, y: NaN}"} {
		_, err := ParsePoint(text)
		require.Error(t, err, text)
	}
}

func TestMakePoint(t *testing.T) {
	p, err := MakePoint(WGS84, -181, 0)
	require.NoError(t, err)
	require.Equal(t, 179.0, p.X)
	for _, x := range []float64{-360, -720, -1e300} {
		p, err = MakePoint(WGS84, x, 0)
		require.NoError(t, err)
		again, err := MakePoint(WGS84, p.X, p.Y)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(p.X), math.Float64bits(again.X), "%v", x)
	}
	p, err = MakePoint(Cartesian, math.Copysign(0, -1), 0)
	require.NoError(t, err)
	require.False(t, math.Signbit(p.X), "there is no -0")
	for _, c := range [][]float64{{1}, {1, 2, 3}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		_, err := MakePoint(Cartesian, c...)
		require.Error(t, err)
	}
}

func FuzzParsePoint(f *testing.F) {
	f.Add("SRID=4326;POINT (1 2)")
	f.Add("{x: 1, y: 2}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePoint(text)
		if err != nil {
			return
		}
		again, err := ParsePoint(string(p.AppendWKT(nil)))
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
