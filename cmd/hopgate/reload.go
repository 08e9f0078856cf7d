package main

import (
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/query"
)

// configured returns the configuration of a process, and what reads it again at each SIGHUP.
func configured(cmd *cobra.Command) (*config.Config, *reloader, error) {
	load := func() (config.Config, error) { return config.Load(cmd.Flags(), os.Environ()) }
	c, err := load()
	if err != nil {
		return nil, nil, cli.Error{Code: cli.Usage, Err: err}
	}
	return &c, &reloader{load: load, now: c}, nil
}

// reloader applies the settings that can change while the process runs.
type reloader struct {
	load func() (config.Config, error)
	log  *slog.Logger

	mu    sync.Mutex
	now   config.Config // in force
	live  []string      // the settings that can change
	apply []func(*config.Config)
}

// on adds settings that can change, and a function that puts them in force. The function must not fail: the configuration is valid.
func (r *reloader) on(apply func(*config.Config), settings ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = append(r.live, settings...)
	r.apply = append(r.apply, apply)
}

// reload reads the configuration again and says what changes. An invalid one changes nothing.
func (r *reloader) reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	read, err := r.load()
	next := r.now
	var changed, waits []config.Change
	if err == nil {
		for _, c := range config.Changes(&r.now, &read) {
			if !slices.Contains(r.live, c.Name) {
				waits = append(waits, c)
				continue
			}
			changed = append(changed, c)
			err = errors.Join(err, next.Set(c.Name, c.To))
		}
		err = errors.Join(err, next.Validate())
	}
	if err != nil {
		r.log.Error("SIGHUP: all settings stay as they are", slog.Any("error", err))
		return
	}
	r.now = next
	for _, apply := range r.apply {
		apply(&r.now)
	}
	for _, c := range changed {
		r.log.Info("SIGHUP: setting changed", slog.String("setting", c.Name), slog.String("from", c.From), slog.String("to", c.To))
	}
	for _, c := range waits {
		r.log.Warn("SIGHUP: setting changes at a restart", slog.String("setting", c.Name), slog.String("from", c.From), slog.String("to", c.To))
	}
	if len(changed)+len(waits) == 0 {
		r.log.Info("SIGHUP: no setting has changed; files of tokens and certificates are read whenever they change")
	}
}

// catchHangups keeps SIGHUP from ending the process. The signals that arrive before handle is called wait for it.
func catchHangups() chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// handle reloads at each signal until the caller calls stop, after which SIGHUP has no effect.
func (r *reloader) handle(hangups chan os.Signal) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hangups {
			r.reload()
		}
	}()
	return sync.OnceFunc(func() {
		signal.Ignore(syscall.SIGHUP)
		close(hangups)
		<-done
	})
}

// bounds returns the limits of requests in a configuration, and those of rates.
func (s *serving) bounds(c *config.Config) (b query.Bounds, perUser, perGraph access.Limits) {
	perUser, _ = access.ParseLimits(c.UserLimits, c.Whole(s.memory)) // Validate has parsed them
	perGraph, _ = access.ParseLimits(c.GraphLimits, c.Whole(s.memory))
	b = query.Bounds{Timeout: c.QueryTimeout, MaxTimeout: c.MaxTimeout, MaxRows: c.MaxRows, MaxVisits: c.MaxVisits}
	b.Admission.Running, b.Admission.Queue, b.Admission.Wait = c.MaxQueries, c.MaxQueue, c.QueueTimeout
	b.Admission.Caller, b.Admission.Graph = perUser, perGraph
	return b, perUser, perGraph
}

// reloadsLimits lets the limits of requests change.
func (s *serving) reloadsLimits(rates *access.Rates) {
	s.reloader.on(func(c *config.Config) {
		b, perUser, perGraph := s.bounds(c)
		s.engine.Bounds.Set(b)
		rates.SetLimits(perUser, perGraph)
		s.engine.SlowLog().Resize(c.SlowLog)
	}, "query-timeout", "max-timeout", "max-rows", "max-visits", "max-queries", "max-queue", "queue-timeout", "user-limits", "graph-limits", "slow-log")
}
