package config

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

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
