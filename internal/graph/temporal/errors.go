package temporal

import "fmt"

// Error is an error in a text, a field or a result. Range distinguishes results and fields out of bounds from malformed ones.
type Error struct {
	Msg   string
	Range bool
}

func (e *Error) Error() string { return e.Msg }

var (
	errDateRange     = &Error{"the year is outside of -999999999 to 999999999", true}
	errDurationRange = &Error{"the duration is too large", true}
)

func invalid(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...), false} }

func outOfRange(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...), true} }

// textError is the error of malformed text; it formats its message only on demand.
type textError struct{ what, text string }

func badText(what, text string) textError { return textError{what, text} }

func (e textError) Error() string { return fmt.Sprintf("%q cannot be read as %s", e.text, e.what) }
