package fn

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// roundings report, for each mode, whether a number truncated towards zero moves one step away from zero: half orders the truncated
// part against one half, and odd says whether the last digit kept is odd.
var roundings = map[string]func(negative bool, half int, odd bool) bool{
	"UP":        func(bool, int, bool) bool { return true },
	"DOWN":      func(bool, int, bool) bool { return false },
	"CEILING":   func(negative bool, _ int, _ bool) bool { return !negative },
	"FLOOR":     func(negative bool, _ int, _ bool) bool { return negative },
	"HALF_UP":   func(_ bool, half int, _ bool) bool { return half >= 0 },
	"HALF_DOWN": func(_ bool, half int, _ bool) bool { return half > 0 },
	"HALF_EVEN": func(_ bool, half int, odd bool) bool { return half > 0 || half == 0 && odd },
}

func round(_ *Context, args []graph.Value) (graph.Value, error) {
	x, err := numberArg("round", args[0])
	if err != nil {
		return null, err
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return graph.FloatValue(x), nil
	}
	if len(args) == 1 {
		return graph.FloatValue(roundHalfUp(x)), nil
	}
	places, err := countArg("round", args[1])
	if err != nil {
		return null, err
	}
	mode := "HALF_UP"
	if len(args) == 3 {
		if mode, err = textArg("round", args[2]); err != nil {
			return null, err
		}
	}
	away, ok := roundings[strings.ToUpper(mode)]
	if !ok {
		return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "unknown rounding mode %q", mode)
	}
	const most = 400 // beyond the decimal places of any float
	if places > most {
		return graph.FloatValue(x), nil
	}
	return graph.FloatValue(roundDecimal(x, places, away)), nil
}

// roundHalfUp rounds to the nearest whole number, one half towards plus infinity.
func roundHalfUp(x float64) float64 {
	down := math.Floor(x)
	if x-down >= 0.5 {
		return down + 1
	}
	return down
}

// roundDecimal rounds the shortest decimal number that denotes x.
func roundDecimal(x float64, places int, away func(negative bool, half int, odd bool) bool) float64 {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		return x
	}
	negative := r.Sign() < 0
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	r.Abs(r).Mul(r, new(big.Rat).SetInt(scale))
	whole, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		half := rest.Lsh(rest, 1).Cmp(r.Denom())
		if away(negative, half, whole.Bit(0) == 1) {
			whole.Add(whole, big.NewInt(1))
		}
	}
	f, _ := new(big.Rat).SetFrac(whole, scale).Float64()
	if negative {
		f = -f
	}
	return f
}
