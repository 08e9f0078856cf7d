package option

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/named"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/shard"
)

// Snapshot runs CREATE SNAPSHOT or DROP SNAPSHOT on a graph, and says whether that has changed anything.
func Snapshot(ctx context.Context, g shard.Graph, c cypher.Command, params map[string]graph.Value) (done bool, err error) {
	switch c := c.(type) {
	case *cypher.CreateSnapshot:
		name, err := Name(c.Name, c.NameParam, params)
		if err != nil {
			return false, err
		}
		expires, err := expiry(c, params)
		if err != nil {
			return false, err
		}
		return named.Create(ctx, g, name, expires, c.IfNotExists)
	case *cypher.DropSnapshot:
		name, err := Name(c.Name, c.NameParam, params)
		if err != nil {
			return false, err
		}
		return named.Drop(ctx, g, name, c.IfExists)
	}
	return false, graph.InternalError("a command that is about no snapshot", nil)
}

func invalidExpiry(format string, args ...any) error {
	return graph.RuntimeError("ArgumentError", named.Invalid, "EXPIRES: "+format, args...)
}

// expiry returns when a snapshot expires, in nanoseconds since 1970, 0 for never.
func expiry(c *cypher.CreateSnapshot, params map[string]graph.Value) (int64, error) {
	if c.Expires == nil {
		return 0, nil
	}
	v, err := Value(c.Expires, params)
	if err != nil {
		return 0, err
	}
	var at time.Time
	switch v.Kind() {
	case graph.Null:
		return 0, nil
	case graph.Duration:
		at, err = after(time.Now(), v.Duration())
	case graph.DateTime:
		at = time.Unix(v.DateTime().Sec, int64(v.DateTime().Nano))
	case graph.String:
		at, err = expiryText(v.Str())
	default:
		return 0, invalidExpiry("takes a duration or a date and time, not %s", notation.Describe(v))
	}
	if err == nil && (at.Unix() <= 0 || at.Unix() > math.MaxInt64/int64(time.Second)-1) {
		err = invalidExpiry("the time is before 1970 or after 2262")
	}
	return at.UnixNano(), err
}

func expiryText(text string) (time.Time, error) {
	if strings.HasPrefix(strings.TrimPrefix(text, "-"), "P") {
		d, err := temporal.ParseDuration(text)
		if err != nil {
			return time.Time{}, invalidExpiry("%q is not a duration", text)
		}
		return after(time.Now(), d)
	}
	t, err := temporal.ParseDateTime(text, temporal.Zone{})
	if err != nil {
		return time.Time{}, invalidExpiry("%q is neither a duration nor a date and time, such as 'P7D' or '2026-03-01T12:00:00Z'", text)
	}
	return time.Unix(t.Sec, int64(t.Nano)), nil
}

// after adds a duration to a time.
func after(now time.Time, d temporal.Duration) (time.Time, error) {
	const most = 300 * 12 // months
	if max(d.Months, d.Days/30, d.Seconds/86400/30) > most || min(d.Months, d.Days, d.Seconds) < 0 {
		return now, invalidExpiry("a snapshot lasts longer than nothing, and shorter than 300 years")
	}
	at := now.UTC().AddDate(0, int(d.Months), int(d.Days))
	return time.Unix(at.Unix()+d.Seconds, int64(at.Nanosecond())+int64(d.Nanos)), nil
}
