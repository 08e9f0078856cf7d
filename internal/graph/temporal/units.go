package temporal

const (
	nanosPerSecond  = 1_000_000_000
	nanosPerMinute  = 60 * nanosPerSecond
	nanosPerHour    = 60 * nanosPerMinute
	nanosPerDay     = 24 * nanosPerHour
	secondsPerDay   = 86_400
	secondsPerMonth = 2_629_746 // a twelfth of the Gregorian year of 365.2425 days
)

// floorDiv divides towards minus infinity; floorMod is its remainder, in [0, b) for positive b.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
