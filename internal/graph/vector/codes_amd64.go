package vector

func dotCodes(q []int8, x *FourCodes, out *[4]int32) {
	switch {
	case len(q) == 0 || len(q)%lanes != 0 || best == portable:
		dotCodesPortable(q, x, out)
	case best == avx512:
		dotCodesAVX512(&q[0], len(q), x, out)
	default:
		dotCodesAVX2(&q[0], len(q), x, out)
	}
}

//go:noescape
func dotCodesAVX2(q *int8, n int, x *FourCodes, out *[4]int32)

//go:noescape
func dotCodesAVX512(q *int8, n int, x *FourCodes, out *[4]int32)
