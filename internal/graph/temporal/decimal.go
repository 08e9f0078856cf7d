package temporal

import (
	"math"
	"math/big"
	"strconv"
)

// ratOf returns the exact value of the shortest decimal that denotes f, so that 0.1 is a tenth.
func ratOf(f float64) (*big.Rat, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errDurationRange
	}
	if i := int64(f); float64(i) == f && i != math.MaxInt64 {
		return new(big.Rat).SetInt64(i), nil
	}
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok {
		return nil, errDurationRange
	}
	return r, nil
}
