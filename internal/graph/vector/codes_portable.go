package vector

import "unsafe"

func dotCodesPortable(q []int8, x *FourCodes, out *[4]int32) {
	for k, first := range x {
		sum := int32(0)
		for i, c := range unsafe.Slice(first, len(q)) {
			sum += int32(c) * int32(q[i])
		}
		out[k] = sum
	}
}
