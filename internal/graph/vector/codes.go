package vector

import "math"

// mostCode is the greatest absolute value of a code.
const mostCode = 127

// Quantize appends the coordinates of a packed vector to dst as codes from -127 to 127, one for each, so that scale times a code is a
// coordinate, rounded. It returns the sum of their squares too. Each vector has its own scale, by its greatest coordinate: as in the
// vector-wise quantization of Dettmers and others, "LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale" (2022), section 2.1.
func Quantize(dst []int8, x []float32) (codes []int8, scale float32, squares int32) {
	most := 0.0
	for _, c := range x {
		most = max(most, math.Abs(float64(c)))
	}
	if most == 0 {
		return append(dst, make([]int8, len(x))...), 0, 0
	}
	for _, c := range x {
		code := int32(math.RoundToEven(float64(c) / most * mostCode))
		dst = append(dst, int8(code))
		squares += code * code
	}
	return dst, float32(most / mostCode), squares
}

// FourCodes are the first codes of four vectors; see Four.
type FourCodes [4]*int8

// DotCodes sets out to the dot products of the codes of a packed vector with those of four others of its stride, of at most 1<<16 codes.
func DotCodes(q []int8, x *FourCodes, out *[4]int32) { dotCodes(q, x, out) }
