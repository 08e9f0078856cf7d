package vector

// Four are the first coordinates of four packed vectors. A comparison reads them side by side, so that the waits for their memory overlap.
type Four [4]*float32

// Dots sets out to the dot products of a packed vector with four others of its stride. It adds in 32 bits: to rank, not to score.
func Dots(q []float32, x *Four, out *[4]float32) { dots(q, x, out) }

// SquareDistances sets out to the squares of the distances, as Dots does.
func SquareDistances(q []float32, x *Four, out *[4]float32) { squareDistances(q, x, out) }
