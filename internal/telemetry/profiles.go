package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"
)

const (
	// profileEvery is how often the processors are watched, and profileWatch for how long. heapEvery is how many times of
	// that pass between two profiles of the heap.
	profileEvery = time.Minute
	profileWatch = 10 * time.Second
	heapEvery    = 5
	// profileTime is the form of the time in a profile's name, by which names are in the order of their times.
	profileTime = "20060102T150405Z"
)

// Profiles takes profiles of the process all the time and keeps the last of them in a directory, so that what has
// happened can still be looked into. A nil Profiles has none.
type Profiles struct {
	dir   string
	most  int64         // bytes that are kept
	label func() func() // see query.Engine.LabelProfiles; nil: nothing is labelled
	log   *slog.Logger

	every, watch time.Duration
	round        int

	mu    sync.Mutex
	users int           // who take profiles of the processors themselves
	stop  chan struct{} // ends the one that is being taken; nil: none is
	done  chan struct{} // is closed when it has ended
}

// KeptProfile is a profile on disk.
type KeptProfile struct {
	Name  string    `json:"name"`
	Kind  string    `json:"kind"` // cpu or heap
	Time  time.Time `json:"time"`
	Bytes int64     `json:"bytes"`
}

// NewProfiles keeps at most so many bytes of profiles in a directory, which it makes. label, if not nil, is called when
// the processors are watched, and what it gives at the end of that.
func NewProfiles(dir string, most int64, label func() func(), log *slog.Logger) (*Profiles, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("profiles: %w", err)
	}
	return &Profiles{dir: dir, most: most, label: label, log: log, every: profileEvery, watch: profileWatch}, nil
}

// Run takes profiles until ctx ends.
func (p *Profiles) Run(ctx context.Context) {
	t := time.NewTicker(p.every)
	defer t.Stop()
	for {
		if err := p.take(ctx); err != nil {
			p.log.Warn("a profile is not kept", slog.Any("error", err))
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// take takes the profiles of one round.
func (p *Profiles) take(ctx context.Context) error {
	var b bytes.Buffer
	at := time.Now()
	if p.watchCPU(ctx, &b) {
		if err := p.keep(at, "cpu", b.Bytes()); err != nil {
			return err
		}
	}
	if p.round++; p.round%heapEvery == 1 {
		b.Reset()
		if err := pprof.Lookup("heap").WriteTo(&b, 0); err != nil {
			return err
		}
		return p.keep(time.Now(), "heap", b.Bytes())
	}
	return nil
}

// watchCPU watches the processors for a while, unless somebody else does or begins to.
func (p *Profiles) watchCPU(ctx context.Context, b *bytes.Buffer) bool {
	stop, done := make(chan struct{}), make(chan struct{})
	p.mu.Lock()
	if p.users > 0 || pprof.StartCPUProfile(b) != nil {
		p.mu.Unlock()
		return false
	}
	p.stop, p.done = stop, done
	p.mu.Unlock()
	if p.label != nil {
		defer p.label()()
	}
	t := time.NewTimer(p.watch)
	defer t.Stop()
	select {
	case <-t.C:
	case <-stop:
	case <-ctx.Done():
	}
	pprof.StopCPUProfile()
	p.mu.Lock()
	p.stop, p.done = nil, nil
	p.mu.Unlock()
	close(done)
	return true
}

// Yield lets somebody take a profile of the processors, of which there can be one at a time, until the function is called
// that it gives.
func (p *Profiles) Yield() (resume func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	p.users++
	done := p.done
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
	p.mu.Unlock()
	if done != nil {
		<-done
	}
	return func() {
		p.mu.Lock()
		p.users--
		p.mu.Unlock()
	}
}

// keep writes a profile and drops the oldest for which there is no room.
func (p *Profiles) keep(at time.Time, kind string, data []byte) error {
	name := filepath.Join(p.dir, at.UTC().Format(profileTime)+"."+kind+".pb.gz")
	if err := os.WriteFile(name+".tmp", data, 0o600); err != nil { //nolint:gosec // The name is of a time and a known kind.
		return err
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		return err
	}
	kept, err := p.List()
	if err != nil {
		return err
	}
	sum := int64(0)
	for _, k := range slices.Backward(kept) {
		if sum += k.Bytes; sum > p.most {
			if err := os.Remove(filepath.Join(p.dir, k.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// List gives the profiles that are kept, the oldest first.
func (p *Profiles) List() ([]KeptProfile, error) {
	kept := []KeptProfile{}
	if p == nil {
		return kept, nil
	}
	entries, err := os.ReadDir(p.dir) // sorted by name, and so by time
	if err != nil {
		return nil, fmt.Errorf("profiles: %w", err)
	}
	for _, e := range entries {
		when, kind, ok := strings.Cut(strings.TrimSuffix(e.Name(), ".pb.gz"), ".")
		at, err := time.Parse(profileTime, when)
		if !ok || err != nil || kind != "cpu" && kind != "heap" {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was dropped meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("profiles: %w", err)
		}
		kept = append(kept, KeptProfile{e.Name(), kind, at, info.Size()})
	}
	return kept, nil
}

// ErrNoProfile says that nothing was kept of the time that was asked for.
var ErrNoProfile = errors.New("no profile is kept of that time")

// Between writes what was kept of a kind from a time until another: of the processors the sum, of the heap the last.
func (p *Profiles) Between(kind string, from, until time.Time, w io.Writer) error {
	kept, err := p.List()
	if err != nil {
		return err
	}
	kept = slices.DeleteFunc(kept, func(k KeptProfile) bool {
		return k.Kind != kind || k.Time.Before(from.Truncate(time.Second)) || k.Time.After(until)
	})
	if kind == "heap" {
		kept = kept[max(len(kept)-1, 0):]
	}
	var all []*profile.Profile
	for _, k := range kept {
		data, err := os.ReadFile(filepath.Join(p.dir, k.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
		one, err := profile.ParseData(data)
		if err != nil {
			return fmt.Errorf("profiles: %s: %w", k.Name, err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return ErrNoProfile
	}
	sum, err := profile.Merge(all)
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	return sum.Write(w)
}
