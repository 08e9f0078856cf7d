package temporal

import (
	"math"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the zones' rules, where the machine has none
)

// Zone is a bare offset, or a named zone if Location is set.
type Zone struct {
	Offset   int32 // seconds east of UTC; of no meaning beside a Location
	Location *time.Location
}

// UTC is the offset 0.
var UTC = Zone{}

// maxOffset is the largest offset in seconds, to either side.
const maxOffset = 18 * 3600

// ZoneOf converts a Go location to a zone; nil and time.UTC are the offset 0.
func ZoneOf(l *time.Location) Zone {
	if l == nil || l == time.UTC {
		return UTC
	}
	return Zone{Location: l}
}

// locations caches *time.Location by requested name. It holds only names of real zones, so it is bounded.
var locations sync.Map

// loadLocation loads a named zone of the IANA database. Names are case-sensitive, and a space means an underscore.
func loadLocation(name string) (*time.Location, error) {
	if l, ok := locations.Load(name); ok {
		return l.(*time.Location), nil
	}
	canonical := strings.ReplaceAll(name, " ", "_")
	dir, _, _ := strings.Cut(canonical, "/")
	switch dir {
	case "", "Local", "localtime", "posix", "posixrules", "right": // no zones, though some machines have such files
		return nil, invalid("unknown time zone %q", name)
	}
	l, err := time.LoadLocation(canonical)
	if err != nil {
		return nil, invalid("unknown time zone %q", name)
	}
	locations.Store(name, l)
	return l, nil
}

// offsetAt is the zone's offset at an instant, in seconds since the epoch.
func (z Zone) offsetAt(sec int64) int32 {
	l := z.Location
	if l == nil {
		return z.Offset
	}
	if sec < 0 {
		l = beforeEpoch(l)
	}
	_, offset := time.Unix(sec, 0).In(l).Zone()
	return int32(offset)
}

// anyOffset prefers neither of the two instants of a clock reading that occurs twice.
const anyOffset int32 = math.MinInt32

// resolve returns the instant of a clock reading, both in seconds since the epoch, and its offset. A reading that occurs twice means
// the earlier instant, unless prefer is the offset of the later. A reading in a gap uses the offset before the gap, which moves it
// later by the gap's length.
func (z Zone) resolve(local int64, prefer int32) (sec int64, offset int32) {
	if z.Location == nil {
		return local - int64(z.Offset), z.Offset
	}
	before, after := z.offsetAt(local-secondsPerDay), z.offsetAt(local+secondsPerDay)
	if before != after {
		validBefore := z.offsetAt(local-int64(before)) == before
		validAfter := z.offsetAt(local-int64(after)) == after
		if validAfter && (!validBefore || prefer == after) {
			return local - int64(after), after
		}
	}
	sec = local - int64(before)
	return sec, z.offsetAt(sec)
}

// In places a clock reading in a zone. A reading that occurs twice is the earlier one; a reading in a gap moves later by the length
// of the gap.
func (t LocalDateTime) In(z Zone) DateTime { return t.in(z, anyOffset) }

func (t LocalDateTime) in(z Zone, prefer int32) DateTime {
	sec, offset := z.resolve(t.Sec, prefer)
	return DateTime{Sec: sec, Nano: t.Nano, Offset: offset, Zone: z.Location}
}

// In returns the same instant on the clocks of another zone.
func (t DateTime) In(z Zone) DateTime {
	return DateTime{Sec: t.Sec, Nano: t.Nano, Offset: z.offsetAt(t.Sec), Zone: z.Location}
}

// Local is the reading of the clock on the spot.
func (t DateTime) Local() LocalDateTime {
	return LocalDateTime{Sec: t.Sec + int64(t.Offset), Nano: t.Nano}
}

// inZone is the zone of the date-time.
func (t DateTime) inZone() Zone { return Zone{Offset: t.Offset, Location: t.Zone} }
