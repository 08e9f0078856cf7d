package vector

func dots(q []float32, x *Four, out *[4]float32) {
	switch {
	case len(q) == 0 || len(q)%lanes != 0 || best == portable:
		dotsPortable(q, x, out)
	case best == avx512:
		dotsAVX512(&q[0], len(q), x, out)
	default:
		dotsAVX2(&q[0], len(q), x, out)
	}
}

func squareDistances(q []float32, x *Four, out *[4]float32) {
	switch {
	case len(q) == 0 || len(q)%lanes != 0 || best == portable:
		squareDistancesPortable(q, x, out)
	case best == avx512:
		squareDistancesAVX512(&q[0], len(q), x, out)
	default:
		squareDistancesAVX2(&q[0], len(q), x, out)
	}
}

//go:noescape
func dotsAVX2(q *float32, n int, x *Four, out *[4]float32)

//go:noescape
func dotsAVX512(q *float32, n int, x *Four, out *[4]float32)

//go:noescape
func squareDistancesAVX2(q *float32, n int, x *Four, out *[4]float32)

//go:noescape
func squareDistancesAVX512(q *float32, n int, x *Four, out *[4]float32)
