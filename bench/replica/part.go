package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/cluster"
)

// partSettings are those of a process that keeps its data in memory and takes a time for each sync.
type partSettings struct {
	No        int           `json:"no"`
	Replicas  int           `json:"replicas"`
	Shards    int           `json:"shards"`
	Listen    string        `json:"listen"`
	Addresses []string      `json:"addresses"`
	Sync      time.Duration `json:"sync"`
}

// slowFS is a file system whose syncs take a time.
type slowFS struct {
	vfs.FS
	sync time.Duration
}

type slowFile struct {
	vfs.File
	sync time.Duration
}

// Create implements vfs.FS.
func (fs slowFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	return slowFile{f, fs.sync}, err
}

// ReuseForWrite implements vfs.FS.
func (fs slowFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(from, to, c)
	return slowFile{f, fs.sync}, err
}

// Sync implements vfs.File.
func (f slowFile) Sync() error {
	sleep(f.sync)
	return f.File.Sync()
}

// SyncData implements vfs.File.
func (f slowFile) SyncData() error { return f.Sync() }

// sleep has the thread sleep, as a sync does, because the timers of the runtime are not exact enough.
func sleep(d time.Duration) {
	_ = unix.Nanosleep(&unix.Timespec{Nsec: max(0, d-wake).Nanoseconds()}, nil)
}

// wake is about how much longer than its time a thread sleeps.
const wake = 55 * time.Microsecond

// servePart serves as a process of a cluster until its standard input ends.
func servePart(settings string) error {
	var p partSettings
	if err := json.Unmarshal([]byte(settings), &p); err != nil {
		return err
	}
	opts := local.Options{
		Dir: "data", FS: slowFS{vfs.NewMem(), p.Sync}, Shards: p.Shards, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	s := grpc.NewServer(rpc.ServerOptions(nil)...)
	process, err := cluster.NewProcess(opts, shard.Layout{Processes: len(p.Addresses), Shards: p.Shards, Replicas: p.Replicas}, p.No, p.Addresses)
	if err != nil {
		return err
	}
	process.Register(s)
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", p.Listen)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	return errors.Join(s.Serve(l), process.Close())
}

// startPart starts such a process; stop ends it.
func startPart(p *partSettings) (stop func() error, err error) {
	settings, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), program, "-part", string(settings))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error { return errors.Join(in.Close(), cmd.Wait()) }, nil
}
