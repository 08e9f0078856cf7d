package runtime

import (
	"errors"

	"github.com/hopgate/hopgate/internal/graph"
)

// Late holds the error of a row back until the rows before it have been returned. An operator that computes values for many rows at a time
// has one. Only statements that read have late errors: those that write return no row before they have ended.
type Late struct{ err error }

// Take returns the error that is held back and forgets it.
func (l *Late) Take() error {
	err := l.err
	l.err = nil
	return err
}

// Waits reports whether an error is held back.
func (l *Late) Waits() bool { return l.err != nil }

// Hold holds an error back, and reports false if it must be returned at once: it is not about a row, or the statement writes.
func (l *Late) Hold(r *Run, err error) bool {
	if !canWait(r, err) {
		return false
	}
	l.err = err
	return true
}

// Before searches for the first of n rows that cannot be computed and holds its error back; computing all n has failed with err.
// compute computes the first k rows, and has computed those that precede the row when Before returns their number. Before returns the
// error to return at once if there are none.
func (l *Late) Before(r *Run, n int, err error, compute func(k int) error) (int, error) {
	if n < 2 || !canWait(r, err) {
		return 0, err
	}
	good, bad := 0, n
	for bad-good > 1 {
		mid := good + (bad-good)/2
		e := compute(mid)
		switch {
		case e == nil:
			good = mid
		case aboutRow(e):
			bad, err = mid, e
		default:
			return 0, e
		}
	}
	if good == 0 {
		return 0, err
	}
	if e := compute(good); e != nil {
		return 0, e
	}
	l.err = err
	return good, nil
}

// canWait reports whether an error may be returned after rows.
func canWait(r *Run, err error) bool {
	return aboutRow(err) && !r.Program.Query.Writes && !r.Program.Query.OwnTransactions()
}

// aboutRow reports whether an error is that of computing a value, as opposed to one of the run or the store.
func aboutRow(err error) bool {
	var e *graph.Error
	return errors.As(err, &e) && e.Kind == graph.KindInvalid && e.Phase == graph.PhaseRuntime
}
