// Package size reads and prints numbers of bytes and of other things.
package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a number of bytes; its text may have a unit (KiB, MiB, GiB, TiB, kB, MB, GB, TB).
type Bytes int64

// units are the units that Parse knows.
var units = []struct {
	name string
	size float64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"KB", 1e3},
	{"B", 1},
}

// binaryUnits is the number of binary units at the start of units, which String uses.
const binaryUnits = 4

// Parse parses a size.
func Parse(s string) (Bytes, error) {
	number, unit := s, 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = rest, u.size
			break
		}
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || f < 0 || math.IsNaN(f) || f*unit > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size; write 1073741824 or 1GiB", s)
	}
	return Bytes(f * unit), nil
}

// Set implements the values of flags.
func (b *Bytes) Set(s string) (err error) {
	*b, err = Parse(s)
	return err
}

// String returns the size in the largest binary unit that divides it.
func (b *Bytes) String() string {
	for _, u := range units[:binaryUnits] {
		if unit := int64(u.size); *b != 0 && int64(*b)%unit == 0 {
			return strconv.FormatInt(int64(*b)/unit, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type names the type in the help of flags.
func (b *Bytes) Type() string { return "size" }

// Text formats bytes in the largest unit that leaves a whole number before the point.
func Text(n uint64) string {
	names := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(names)-1 {
		f, u = f/1024, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, names[u])
}

// Count says how many of a thing there are: "1 edge", "2 vertices". The noun is singular.
func Count[N int | int64 | uint64 | uint32](n N, noun string) string {
	switch {
	case n == 1:
	case noun == "vertex":
		noun = "vertices"
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	case strings.HasSuffix(noun, "x"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
