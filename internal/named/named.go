package named

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Snapshot is a name for a commit of a graph. One that has been read from a graph must not be changed.
type Snapshot struct {
	Name string `json:"-"`
	// Commit is the number of the commit, Time its time in nanoseconds since 1970.
	Commit uint64 `json:"commit"`
	Time   int64  `json:"time"`
	// Bytes is the size of the commit log by then; see shard.LogState.
	Bytes uint64 `json:"bytes"`
	// Created and Expires are times in nanoseconds since 1970. Expires is 0 for a snapshot that lasts until it is dropped.
	Created int64 `json:"created"`
	Expires int64 `json:"expires,omitempty"`
}

// The details of errors, which are stable codes.
const (
	// NotFound says that a graph has no snapshot of a name.
	NotFound = "SnapshotNotFound"
	// Exists says that it has one already.
	Exists = "SnapshotExists"
	// Invalid says that a name or an expiry is wrong.
	Invalid = "SnapshotInvalid"
)

// mostName is the most bytes of a name.
const mostName = 256

// stored is the kind of the definitions that are snapshots.
var stored = definition.Register("snapshot", decode)

func decode(name string, value []byte) (*Snapshot, error) {
	s := &Snapshot{Name: name}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("something follows the snapshot")
	}
	return s, checkName(name)
}

func checkName(name string) error {
	if name == "" || len(name) > mostName || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return fmt.Errorf("the name of a snapshot has 1 to %d bytes of UTF-8", mostName)
	}
	return nil
}

// live reports whether the snapshot has not expired at a time.
func (s *Snapshot) live(now time.Time) bool { return s.Expires == 0 || now.UnixNano() < s.Expires }

// All returns the snapshots of a graph that have not expired, in order of their names.
func All(set *definition.Set, now time.Time) (out []*Snapshot) {
	for _, s := range stored.All(set) {
		if s.live(now) {
			out = append(out, s)
		}
	}
	return out
}

// Get returns a snapshot by name.
func Get(set *definition.Set, name string, now time.Time) (*Snapshot, error) {
	if s, ok := stored.Get(set, name); ok && s.live(now) {
		return s, nil
	}
	return nil, failed(graph.KindNotFound, NotFound, "the graph has no snapshot %q, or it has expired", name)
}

// Oldest returns the first commit that a snapshot of a graph is of; ok is false if there is none.
func Oldest(set *definition.Set, now time.Time) (commit uint64, ok bool) {
	for _, s := range stored.All(set) {
		if s.live(now) && (!ok || s.Commit < commit) {
			commit, ok = s.Commit, true
		}
	}
	return commit, ok
}

// Expired returns the change that drops the snapshots that have expired; ok is false if there are none.
func Expired(set *definition.Set, now time.Time) (c definition.Change, ok bool) {
	for _, s := range stored.All(set) {
		if !s.live(now) {
			c.Drop = append(c.Drop, stored.Ref(s.Name))
		}
	}
	c.If = set.Version() // one of the name that was made meanwhile stays
	return c, len(c.Drop) > 0
}

func failed(kind graph.Kind, detail, format string, args ...any) error {
	return &graph.Error{
		Kind: kind, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime,
		Detail: detail, Msg: fmt.Sprintf(format, args...),
	}
}

func noLog() error {
	return failed(graph.KindInvalid, "ChangeLogOff", "the graph keeps no commit log, which a snapshot needs: see --log-retention and txLogEnrichment")
}

// newest returns the definitions of a graph as they are now, in whichever process they were changed last.
func newest(ctx context.Context, g shard.Graph) (*definition.Set, error) {
	for {
		tx, err := g.Begin(ctx, shard.Read)
		if err != nil {
			return nil, err
		}
		if v := tx.Features().Validator; v != nil {
			err = v.Check(ctx)
		}
		tx.Rollback()
		if !shard.Retriable(err) {
			return g.Definitions(), err
		}
	}
}

// tries is how often Create tries again when others change the definitions, or the log is cut, at the same time.
const tries = 10

// Create names the last commit of a graph. expires is 0 if it never does. With over, an existing snapshot of the name stays, and created is false;
// without, it is an error of detail Exists.
func Create(ctx context.Context, g shard.Graph, name string, expires int64, over bool) (created bool, err error) {
	if err := checkName(name); err != nil {
		return false, failed(graph.KindInvalid, Invalid, "%v", err)
	}
	now := time.Now()
	if expires != 0 && expires <= now.UnixNano() {
		return false, failed(graph.KindInvalid, Invalid, "the snapshot %q would expire at once", name)
	}
	log := g.ChangeLog()
	if log == nil {
		return false, noLog()
	}
	for try := 0; ; try++ {
		if created, err = create(ctx, g, log, &Snapshot{Name: name, Created: now.UnixNano(), Expires: expires}, over); err == nil || try == tries {
			return created, err
		}
		if e := graph.AsError(err); e.Detail != "DefinitionsChanged" && e.Detail != cut {
			return false, err
		}
	}
}

// cut is the detail of the error of a snapshot whose commit was cut from the log before it was defined.
const cut = "ChangeLogTooOld"

func create(ctx context.Context, g shard.Graph, log shard.ChangeLog, s *Snapshot, over bool) (created bool, err error) {
	set, err := newest(ctx, g)
	if err != nil {
		return false, err
	}
	if _, err := Get(set, s.Name, time.Now()); err == nil {
		if over {
			return false, nil
		}
		return false, failed(graph.KindExists, Exists, "the graph has a snapshot %q already", s.Name)
	}
	st, err := log.LogState(ctx)
	if err != nil {
		return false, err
	}
	if st.Mode == changelog.Off {
		return false, noLog()
	}
	s.Commit, s.Time, s.Bytes = st.Last, st.LastTime, st.Bytes
	value, err := json.Marshal(s)
	if err != nil {
		return false, graph.InternalError("write a snapshot", err)
	}
	if err := g.Define(ctx, definition.Change{If: set.Version(), Put: []definition.Record{stored.Record(s.Name, value)}}); err != nil {
		return false, err
	}
	// The cutter looks for snapshots after it has said up to where it cuts: either it has seen this one, or it has said so by now.
	if st, err = log.LogState(ctx); err == nil && (st.First > s.Commit || st.Mode == changelog.Off) {
		err = shard.NoLogPosition(s.Commit, st.First, st.Last)
	}
	if err != nil {
		return false, errors.Join(err, g.Define(ctx, definition.Change{Drop: []definition.Ref{stored.Ref(s.Name)}}))
	}
	return true, nil
}

// Drop drops a snapshot of a graph. If there is none, dropped is false with missing; else it is an error of detail NotFound.
func Drop(ctx context.Context, g shard.Graph, name string, missing bool) (dropped bool, err error) {
	set, err := newest(ctx, g)
	if err != nil {
		return false, err
	}
	if _, err := Get(set, name, time.Now()); err != nil {
		if missing {
			return false, nil
		}
		return false, err
	}
	return true, g.Define(ctx, definition.Change{Drop: []definition.Ref{stored.Ref(name)}})
}
