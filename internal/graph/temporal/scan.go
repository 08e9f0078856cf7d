package temporal

// scanner reads text from the left; a method that fails consumes nothing.
type scanner struct{ rest string }

func (s *scanner) done() bool { return s.rest == "" }

// skip takes a character, a letter in either case.
func (s *scanner) skip(c byte) bool {
	if s.rest == "" {
		return false
	}
	got := s.rest[0]
	if 'a' <= got && got <= 'z' {
		got -= 'a' - 'A'
	}
	if got != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// digits returns the number of digits that follow.
func (s *scanner) digits() int {
	n := 0
	for n < len(s.rest) && '0' <= s.rest[n] && s.rest[n] <= '9' {
		n++
	}
	return n
}

// number takes exactly n digits, at most 18.
func (s *scanner) number(n int) (int64, bool) {
	if s.digits() < n {
		return 0, false
	}
	var v int64
	for i := range n {
		v = v*10 + int64(s.rest[i]-'0')
	}
	s.rest = s.rest[n:]
	return v, true
}

// sign consumes a sign and returns -1 or 1, or 0 if there is none.
func (s *scanner) sign() int64 {
	switch {
	case s.skip('-'):
		return -1
	case s.skip('+'):
		return 1
	}
	return 0
}

// fraction takes a point or comma and 1 to 9 digits, as nanoseconds.
func (s *scanner) fraction() (nanos int64, ok bool) {
	if !s.skip('.') && !s.skip(',') {
		return 0, true
	}
	n := s.digits()
	if n < 1 || n > 9 {
		return 0, false
	}
	nanos, _ = s.number(n)
	for ; n < 9; n++ {
		nanos *= 10
	}
	return nanos, true
}
