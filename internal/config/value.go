package config

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hopgate/hopgate/internal/access"
)

// Bytes is a number of bytes; its text may have a unit (KiB, MiB, GiB, TiB, kB, MB, GB, TB).
type Bytes int64

// binary are the units that String uses.
var binary = []struct {
	name string
	size int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// ParseBytes parses a size.
func ParseBytes(s string) (Bytes, error) {
	n, err := access.ParseSize(s)
	return Bytes(n), err
}

// Set parses a size.
func (b *Bytes) Set(s string) (err error) {
	*b, err = ParseBytes(s)
	return err
}

// String returns the size in the largest binary unit that divides it.
func (b *Bytes) String() string {
	for _, u := range binary {
		if *b != 0 && int64(*b)%u.size == 0 {
			return strconv.FormatInt(int64(*b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type names the type in the help of flags.
func (b *Bytes) Type() string { return "size" }

type (
	text     string
	whole    int
	long     int64
	truth    bool
	duration time.Duration
)

func (t *text) Set(s string) error { *t = text(s); return nil }
func (t *text) String() string     { return string(*t) }
func (t *text) Type() string       { return "string" }

func (w *whole) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("%q is not a whole number", s)
	}
	*w = whole(n)
	return nil
}
func (w *whole) String() string { return strconv.Itoa(int(*w)) }
func (w *whole) Type() string   { return "int" }

func (l *long) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a whole number", s)
	}
	*l = long(n)
	return nil
}
func (l *long) String() string { return strconv.FormatInt(int64(*l), 10) }
func (l *long) Type() string   { return "int" }

func (t *truth) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", s)
	}
	*t = truth(b)
	return nil
}
func (t *truth) String() string { return strconv.FormatBool(bool(*t)) }
func (t *truth) Type() string   { return "bool" }

func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		if s == "0" {
			*d = 0
			return nil
		}
		return errors.New(strconv.Quote(s) + " is not a duration; write 10s or 1m30s")
	}
	*d = duration(v)
	return nil
}
func (d *duration) String() string { return time.Duration(*d).String() }
func (d *duration) Type() string   { return "duration" }
