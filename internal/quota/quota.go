package quota

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

// Quota is a quota of a graph. One that has been read from a graph must not be changed.
type Quota struct {
	// Name has letters, digits, underscores, hyphens and dots, 64 at most.
	Name string `json:"-"`
	// For says whose requests it counts: "everyone", "token=NAME", "role=NAME", "claim=NAME=VALUE" or "operation=NAME".
	For string `json:"for"`
	// Each gives each caller an account of its own; otherwise all share one.
	Each    bool    `json:"each,omitempty"`
	Measure Measure `json:"measure"`
	// Amount is what an account may take in a window: units of cost, seconds of CPU, or requests.
	Amount float64 `json:"amount"`
	Window Window  `json:"window"`
	// Mode says what happens to requests beyond the amount.
	Mode Mode `json:"mode"`

	whom  whom
	limit int64  // Amount, of CPU in nanoseconds
	every int64  // Window, in nanoseconds
	shape uint64 // tells quotas of one name apart whose accounts count different things
}

// Measure is what a quota counts.
type Measure string

// The measures.
const (
	Cost     Measure = "cost"     // visits and rows, as cost.Cost.Units has them
	CPU      Measure = "cpu"      // time of the cores
	Requests Measure = "requests" // those that began
)

// Window is the time for which an amount lasts.
type Window string

// The windows.
const (
	Second Window = "second"
	Minute Window = "minute"
	Hour   Window = "hour"
	Day    Window = "day"
)

var windows = map[Window]time.Duration{Second: time.Second, Minute: time.Minute, Hour: time.Hour, Day: 24 * time.Hour}

// Mode is what becomes of requests beyond an amount.
type Mode string

// The modes.
const (
	Measured Mode = "measure" // they run, and are counted
	Enforced Mode = "enforce" // they are refused
)

// whom is a parsed For.
type whom struct{ kind, name, value string }

// mostAmount is the greatest number that the RateLimit fields can tell.
const mostAmount = 999_999_999_999_999

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// stored is the kind of the definitions that are quotas.
var stored = definition.Register("quota", decode)

func decode(name string, value []byte) (*Quota, error) {
	q := &Quota{Name: name}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("something follows the quota")
	}
	return q, q.complete()
}

// All returns the quotas of a graph in order of their names; they must not be changed. It is the same slice until one of them changes.
func All(s *definition.Set) []*Quota { return stored.All(s) }

// Get returns a quota by name, or nil.
func Get(s *definition.Set, name string) *Quota {
	q, _ := stored.Get(s, name)
	return q
}

// Put returns the change of a graph's definitions that adds a quota, or replaces that of its name. One that differs from it only in amount and
// mode keeps its accounts.
func Put(q Quota) (definition.Change, error) {
	if err := q.complete(); err != nil {
		return definition.Change{}, invalid("quota %s: %v", q.Name, err)
	}
	value, err := json.Marshal(&q)
	if err != nil {
		return definition.Change{}, graph.InternalError("a quota has no stored form", err)
	}
	return definition.Change{Put: []definition.Record{stored.Record(q.Name, value)}}, nil
}

// Drop returns the change that drops a quota.
func Drop(s *definition.Set, name string) (definition.Change, error) {
	if Get(s, name) == nil {
		err := graph.RequestError(graph.KindNotFound, "NoSuchQuota", "the graph has no quota %s", name)
		err.Code = "Neo.ClientError.Quota.NotFound"
		return definition.Change{}, err
	}
	return definition.Change{Drop: []definition.Ref{stored.Ref(name)}}, nil
}

func invalid(format string, args ...any) error {
	err := graph.RequestError(graph.KindInvalid, "InvalidQuota", format, args...)
	err.Code = "Neo.ClientError.Quota.Invalid"
	return err
}

// FromMap returns the quota that a map describes, whose keys are name and those of the stored form. each is false, measure cost and mode
// measure without a value.
func FromMap(m graph.Value) (q Quota, err error) {
	q.Measure, q.Mode = Cost, Measured
	if m.Kind() != graph.Map {
		return q, invalid("a quota is a map with name, for, each, measure, amount, window and mode")
	}
	for _, e := range m.Map() {
		field, want := &q.Name, "a String"
		switch e.Key {
		case "name":
		case "for":
			field = &q.For
		case "measure":
			field = (*string)(&q.Measure)
		case "window":
			field = (*string)(&q.Window)
		case "mode":
			field = (*string)(&q.Mode)
		case "each":
			if e.Value.Kind() == graph.Bool {
				q.Each = e.Value.Bool()
				continue
			}
			want = "a Boolean"
		case "amount":
			switch e.Value.Kind() {
			case graph.Int:
				q.Amount = float64(e.Value.Int())
				continue
			case graph.Float:
				q.Amount = e.Value.Float()
				continue
			}
			want = "a number"
		default:
			return q, invalid("a quota has no %s; it has name, for, each, measure, amount, window and mode", e.Key)
		}
		if want != "a String" || e.Value.Kind() != graph.String {
			return q, invalid("the %s of a quota must be %s", e.Key, want)
		}
		*field = e.Value.Str()
	}
	if err := q.complete(); err != nil {
		return q, invalid("%v", err)
	}
	return q, nil
}

// complete checks a quota and sets what follows from its fields.
func (q *Quota) complete() (err error) {
	if !nameForm.MatchString(q.Name) {
		return fmt.Errorf("the name %q must have letters, digits, underscores, hyphens and dots, 64 at most", q.Name)
	}
	if q.whom, err = parseWhom(q.For); err != nil {
		return fmt.Errorf("for: %w", err)
	}
	most := float64(mostAmount)
	switch q.Measure {
	case Cost, Requests:
		if q.Amount != math.Trunc(q.Amount) {
			return fmt.Errorf("the amount %v of %s must be whole", q.Amount, q.Measure)
		}
		q.limit = int64(min(q.Amount, most))
	case CPU:
		most = math.MaxInt32
		q.limit = int64(math.Round(min(q.Amount, most)*1e3)) * int64(time.Millisecond)
	default:
		return fmt.Errorf("the measure must be cost, cpu or requests, is %q", q.Measure)
	}
	if !(q.Amount > 0 && q.Amount <= most) || q.limit == 0 {
		return fmt.Errorf("the amount %v must be above 0, and at most %.0f", q.Amount, most)
	}
	if q.every = int64(windows[q.Window]); q.every == 0 {
		return fmt.Errorf("the window must be second, minute, hour or day, is %q", q.Window)
	}
	if q.Mode != Measured && q.Mode != Enforced {
		return fmt.Errorf("the mode must be measure or enforce, is %q", q.Mode)
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%v\x00%s\x00%s", q.For, q.Each, q.Measure, q.Window)
	q.shape = h.Sum64()
	return nil
}

func parseWhom(text string) (w whom, err error) {
	kind, name, named := strings.Cut(text, "=")
	w = whom{kind: kind, name: name}
	switch {
	case kind == "everyone" && !named:
		return w, nil
	case (kind == "token" || kind == "role" || kind == "operation") && name != "":
		return w, nil
	case kind == "claim":
		var valued bool
		w.name, w.value, valued = strings.Cut(name, "=")
		if w.name != "" && valued {
			return w, nil
		}
	}
	return w, fmt.Errorf("must be everyone, token=NAME, role=NAME, claim=NAME=VALUE or operation=NAME, is %q", text)
}

// counts reports whether the quota counts a request of a caller, who is nil without authentication, in a graph. operation is what it calls, or "".
func (q *Quota) counts(id *access.Identity, graphName, operation string) bool {
	switch w := &q.whom; {
	case w.kind == "everyone":
		return true
	case w.kind == "operation":
		return operation == w.name
	case id == nil:
		return false
	case w.kind == "token":
		return id.Name == w.name
	case w.kind == "role":
		return id.In(graphName).String() == w.name || slices.Contains(id.Roles, w.name) || slices.Contains(id.GraphRoles[graphName], w.name)
	default:
		v := id.Claims[w.name]
		if v.Kind() == graph.List {
			return slices.ContainsFunc(v.List(), func(v graph.Value) bool { return isText(v, w.value) })
		}
		return isText(v, w.value)
	}
}

// isText reports whether a claim has the value that a text says.
func isText(v graph.Value, text string) bool {
	switch v.Kind() {
	case graph.String:
		return v.Str() == text
	case graph.Bool:
		return strconv.FormatBool(v.Bool()) == text
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10) == text
	case graph.Float:
		f, err := strconv.ParseFloat(text, 64)
		return err == nil && f == v.Float()
	}
	return false
}

// of returns what the quota counts of a cost, in units of its limit; requests are counted as they begin.
func (q *Quota) of(c *cost.Cost) int64 {
	switch q.Measure {
	case Cost:
		return c.Units()
	case CPU:
		return int64(c.CPU)
	}
	return 0
}

// number returns the number of the window at an instant, in nanoseconds since 1970.
func (q *Quota) number(now int64) int64 { return now / q.every }

// left returns how long the window at an instant still lasts.
func (q *Quota) left(now int64) time.Duration { return time.Duration(q.every - now%q.every) }

// Told returns an amount of the quota's limit as people read it: in seconds of CPU.
func (q *Quota) Told(n int64) float64 {
	if q.Measure == CPU {
		return float64(n) / float64(time.Second)
	}
	return float64(n)
}
