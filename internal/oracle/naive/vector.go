package naive

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Vector is a vector of four coordinates, as the fuzzer's are, of the type INTEGER8 or FLOAT32.
type Vector struct {
	Type        string
	Coordinates [4]float64
}

// String writes the vector as drivers show it.
func (v Vector) String() string {
	parts := make([]string, len(v.Coordinates))
	for i, c := range v.Coordinates {
		if parts[i] = fmt.Sprint(c); v.Type == "FLOAT32" && c == math.Trunc(c) {
			parts[i] += ".0"
		}
	}
	return fmt.Sprintf("vector([%s], %d, %s NOT NULL)", strings.Join(parts, ", "), len(parts), v.Type)
}

// vectorOf is vector() of a list of numbers, their count and a type.
func vectorOf(args []any) any {
	list, ok := args[0].([]any)
	v := Vector{}
	v.Type, _ = args[2].(string)
	if !ok || len(list) != len(v.Coordinates) || args[1] != any(int64(len(list))) || v.Type != "INTEGER8" && v.Type != "FLOAT32" {
		unknown(args)
	}
	for i, e := range list {
		c, ok := number(e)
		if !ok {
			unknown(e)
		}
		if v.Type == "INTEGER8" {
			c = math.Trunc(c)
		}
		v.Coordinates[i] = float64(float32(c))
	}
	return v
}

// compare orders vectors: by type, integers first, then by coordinate.
func (v Vector) compare(o Vector) int {
	return cmp.Or(-strings.Compare(v.Type, o.Type), slices.Compare(v.Coordinates[:], o.Coordinates[:]))
}

// integers returns the coordinates without their fractions.
func (v Vector) integers() []any {
	out := []any{}
	for _, c := range v.Coordinates {
		out = append(out, int64(c))
	}
	return out
}

// distance adds up what of makes of the differences between the coordinates of two vectors.
func distance(args []any, of func(float64) float64) float64 {
	a, ok := args[0].(Vector)
	b, ok2 := args[1].(Vector)
	if !ok || !ok2 {
		unknown(args)
	}
	sum := 0.0
	for i := range a.Coordinates {
		sum += of(a.Coordinates[i] - b.Coordinates[i])
	}
	return sum
}
