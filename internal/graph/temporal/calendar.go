package temporal

// MinYear and MaxYear bound the years of dates.
const (
	minYear = -999_999_999
	maxYear = 999_999_999
)

var (
	minDate = MakeDate(minYear, 1, 1)
	maxDate = MakeDate(maxYear, 12, 31)
)

const (
	daysPer400Years = 146_097
	epochDay        = 719_468 // days from 0000-03-01 to 1970-01-01
)

// MakeDate returns the day of a year, month and day of month, which it does not check.
func MakeDate(year, month, day int64) Date {
	// Years begin in March here, so that the leap day is a year's last.
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := (153*(month-3)+2)/5 + day - 1
	return Date(era*daysPer400Years + yoe*365 + yoe/4 - yoe/100 + doy - epochDay)
}

// ymd returns the year, month and day of month.
func (d Date) ymd() (year, month, day int64) {
	z := int64(d) + epochDay
	era := floorDiv(z, daysPer400Years)
	doe := z - era*daysPer400Years
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// Valid reports whether the date's year is in bounds.
func (d Date) Valid() bool { return minDate <= d && d <= maxDate }

func isLeap(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysInMonth(year, month int64) int64 {
	switch month {
	case 2:
		if isLeap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func daysInYear(year int64) int64 {
	if isLeap(year) {
		return 366
	}
	return 365
}

// weekday counts from Monday, 1, to Sunday, 7.
func (d Date) weekday() int64 { return floorMod(int64(d)+3, 7) + 1 }

// ordinalDay is the day of the year, from 1.
func (d Date) ordinalDay() int64 {
	y, _, _ := d.ymd()
	return int64(d-MakeDate(y, 1, 1)) + 1
}

// quarter is the quarter of the year, from 1.
func (d Date) quarter() int64 {
	_, m, _ := d.ymd()
	return (m + 2) / 3
}

// dayOfQuarter is the day of the quarter, from 1.
func (d Date) dayOfQuarter() int64 {
	y, m, _ := d.ymd()
	return int64(d-MakeDate(y, (m-1)/3*3+1, 1)) + 1
}

// weekOne is the Monday of the first ISO week of a week-based year, the week that holds January 4th.
func weekOne(weekYear int64) Date {
	d := MakeDate(weekYear, 1, 4)
	return d - Date(d.weekday()-1)
}

// week returns the ISO week-based year and the week in it, from 1.
func (d Date) week() (weekYear, week int64) {
	thursday := d + Date(4-d.weekday())
	weekYear, _, _ = thursday.ymd()
	return weekYear, (thursday.ordinalDay()-1)/7 + 1
}

func weeksInYear(weekYear int64) int64 { return int64(weekOne(weekYear+1)-weekOne(weekYear)) / 7 }

// addMonths moves by months, to the last day of a month that is too short.
func (d Date) addMonths(months int64) (Date, error) {
	if months == 0 {
		return d, nil
	}
	y, m, day := d.ymd()
	n, ok := addInt(y*12+m-1, months)
	if !ok {
		return 0, errDateRange
	}
	y, m = floorDiv(n, 12), floorMod(n, 12)+1
	if y < minYear || y > maxYear {
		return 0, errDateRange
	}
	return MakeDate(y, m, min(day, daysInMonth(y, m))), nil
}

func (d Date) addDays(days int64) (Date, error) {
	n, ok := addInt(int64(d), days)
	if !ok || !Date(n).Valid() {
		return 0, errDateRange
	}
	return Date(n), nil
}
