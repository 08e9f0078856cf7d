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
	// Every profileEvery, a CPU profile runs for profileWatch. Every heapEvery-th time, a heap profile follows.
	profileEvery = time.Minute
	profileWatch = 10 * time.Second
	heapEvery    = 5
	// profileTime is the time format in the names of profiles; their lexical order is the order of time.
	profileTime = "20060102T150405Z"
)

// Profiles takes profiles continuously and keeps the latest in a directory, so that past incidents can be analysed. A nil Profiles has
// none.
type Profiles struct {
	dir   string
	most  int64         // limit of the kept bytes
	label func() func() // see query.Engine.LabelProfiles; may be nil
	log   *slog.Logger

	every, watch time.Duration
	round        int

	mu    sync.Mutex
	users int           // requests that currently take CPU profiles of their own
	stop  chan struct{} // ends the running profile; nil if none runs
	done  chan struct{} // closed when it has ended
}

// KeptProfile is a profile on disk.
type KeptProfile struct {
	Name  string    `json:"name"`
	Kind  string    `json:"kind"` // cpu or heap
	Time  time.Time `json:"time"`
	Bytes int64     `json:"bytes"`
}

// NewProfiles returns Profiles that keep at most that many bytes in a directory, which it creates. If label is not nil, it is called before
// each CPU profile, and its result afterwards.
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
			p.log.Warn("cannot keep a profile", slog.Any("error", err))
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

// watchCPU takes a CPU profile, unless another one runs or begins.
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

// Yield lets another CPU profile run, since only one can run at a time, until the caller calls resume.
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

// keep writes a profile and drops the oldest ones beyond the limit.
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

// List returns the kept profiles, oldest first.
func (p *Profiles) List() ([]KeptProfile, error) {
	kept := []KeptProfile{}
	if p == nil {
		return kept, nil
	}
	entries, err := os.ReadDir(p.dir) // sorted by name, hence by time
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
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("profiles: %w", err)
		}
		kept = append(kept, KeptProfile{e.Name(), kind, at, info.Size()})
	}
	return kept, nil
}

// ErrNoProfile means that no profile of the period is kept.
var ErrNoProfile = errors.New("no profile was kept at that time")

// Between writes the kept profiles of a kind and period: the sum of CPU profiles, or the last heap profile.
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
