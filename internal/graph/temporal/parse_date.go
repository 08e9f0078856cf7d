package temporal

// ParseDate parses a date in any of the ISO 8601 forms that openCypher accepts: calendar, week, ordinal and quarter dates, extended
// or basic, down to a year. Years beyond four digits have a sign.
func ParseDate(text string) (Date, error) {
	s := scanner{text}
	d, err := s.date(text)
	if err == nil && !s.done() {
		err = badText("a date", text)
	}
	return d, err
}

func (s *scanner) date(text string) (Date, error) {
	bad := badText("a date", text)
	sign := s.sign()
	width := 4
	if sign != 0 {
		width = s.digits()
	}
	if width < 1 || width > 9 {
		return 0, bad
	}
	year, ok := s.number(width)
	if !ok {
		return 0, bad
	}
	if sign < 0 {
		year = -year
	}
	extended := s.skip('-')
	switch {
	case s.skip('W'):
		return s.weekDate(year, extended, bad)
	case s.skip('Q'):
		return s.quarterDate(year, extended, bad)
	}
	return s.calendarDate(year, extended, bad)
}

// element takes a number of the given width; the extended form allows one digit where two are usual.
func (s *scanner) element(width int, extended bool) (int64, bool) {
	if n := s.digits(); extended && width == 2 && n == 1 {
		width = 1
	} else if extended && n != width {
		return 0, false
	}
	return s.number(width)
}

// part parses another element of a date, after a hyphen in the extended form, or returns def if there is none.
func (s *scanner) part(width int, extended bool, def int64) (int64, bool) {
	if extended {
		if s.rest == "" || s.rest[0] != '-' {
			return def, true
		}
		s.skip('-')
	} else if s.digits() == 0 {
		return def, true
	}
	return s.element(width, extended)
}

func (s *scanner) calendarDate(year int64, extended bool, bad textError) (Date, error) {
	n := s.digits()
	if n == 0 && !extended {
		return dateOfDay(year, 1, 1)
	}
	if n == 3 {
		day, _ := s.number(3)
		return dateOfOrdinal(year, day)
	}
	month, ok := s.element(2, extended)
	if !ok {
		return 0, bad
	}
	day, ok := s.part(2, extended, 1)
	if !ok {
		return 0, bad
	}
	return dateOfDay(year, month, day)
}

func (s *scanner) weekDate(year int64, extended bool, bad textError) (Date, error) {
	week, ok := s.number(2)
	if !ok && extended {
		week, ok = s.number(1)
	}
	if !ok {
		return 0, bad
	}
	day, ok := s.part(1, extended, 1)
	if !ok {
		return 0, bad
	}
	return dateOfWeek(year, week, day)
}

func (s *scanner) quarterDate(year int64, extended bool, bad textError) (Date, error) {
	quarter, ok := s.number(1)
	if !ok {
		return 0, bad
	}
	day, ok := s.part(2, extended, 1)
	if !ok {
		return 0, bad
	}
	return dateOfQuarter(year, quarter, day)
}

func checkRange(name string, n, low, high int64) error {
	if n < low || n > high {
		return outOfRange("%s must be from %d to %d, not %d", name, low, high, n)
	}
	return nil
}

func dateOfDay(year, month, day int64) (Date, error) {
	if err := checkRange("year", year, minYear, maxYear); err != nil {
		return 0, err
	}
	if err := checkRange("month", month, 1, 12); err != nil {
		return 0, err
	}
	if err := checkRange("day", day, 1, daysInMonth(year, month)); err != nil {
		return 0, err
	}
	return MakeDate(year, month, day), nil
}

func dateOfOrdinal(year, day int64) (Date, error) {
	if err := checkRange("year", year, minYear, maxYear); err != nil {
		return 0, err
	}
	if err := checkRange("ordinalDay", day, 1, daysInYear(year)); err != nil {
		return 0, err
	}
	return MakeDate(year, 1, 1) + Date(day-1), nil
}

func dateOfWeek(year, week, day int64) (Date, error) {
	if err := checkRange("year", year, minYear, maxYear); err != nil {
		return 0, err
	}
	if err := checkRange("week", week, 1, weeksInYear(year)); err != nil {
		return 0, err
	}
	if err := checkRange("dayOfWeek", day, 1, 7); err != nil {
		return 0, err
	}
	d := weekOne(year) + Date((week-1)*7+day-1)
	if !d.Valid() {
		return 0, errDateRange
	}
	return d, nil
}

func dateOfQuarter(year, quarter, day int64) (Date, error) {
	if err := checkRange("year", year, minYear, maxYear); err != nil {
		return 0, err
	}
	if err := checkRange("quarter", quarter, 1, 4); err != nil {
		return 0, err
	}
	first := MakeDate(year, quarter*3-2, 1)
	end := MakeDate(year+quarter/4, quarter%4*3+1, 1)
	if err := checkRange("dayOfQuarter", day, 1, int64(end-first)); err != nil {
		return 0, err
	}
	return first + Date(day-1), nil
}
