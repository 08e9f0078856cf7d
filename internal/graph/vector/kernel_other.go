//go:build !amd64

package vector

// Kernel names the kernels in use.
func Kernel() string { return "portable" }

func dot(x []float32, q []float64) float64 { return dotPortable(x, q) }

func squareDistance(x []float32, q []float64) float64 { return squareDistancePortable(x, q) }

func dots(q []float32, x *Four, out *[4]float32) { dotsPortable(q, x, out) }

func dotCodes(q []int8, x *FourCodes, out *[4]int32) { dotCodesPortable(q, x, out) }

func squareDistances(q []float32, x *Four, out *[4]float32) { squareDistancesPortable(q, x, out) }
