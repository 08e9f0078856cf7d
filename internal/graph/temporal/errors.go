package temporal

import "fmt"

// Error says what is wrong with a text, a field or a result. Range tells results and fields out of their bounds from
// what cannot be understood at all.
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
