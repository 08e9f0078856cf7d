package local

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// processesName is a file of a process of a cluster without replicas: of how many processes it was when it last started. The graphs do not
// say that, as one that was created before the cluster grew has fewer shards.
const processesName = "PROCESSES"

// NoteProcesses makes it durable of how many processes without replicas the one of an open directory is.
func NoteProcesses(opts Options, processes int) error {
	opts.EnsureDefaults()
	if was, err := readProcesses(&opts); err != nil || was == processes {
		return err
	}
	return writeWhole(opts.FS, opts.FS.PathJoin(opts.Dir, processesName), []byte(strconv.Itoa(processes)+"\n"))
}

// readProcesses returns what NoteProcesses has noted, 0 if it has not.
func readProcesses(opts *Options) (int, error) {
	name := opts.FS.PathJoin(opts.Dir, processesName)
	f, err := opts.FS.Open(name)
	if isNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n < 1 {
		return 0, graph.CorruptError("read "+name, err)
	}
	return n, nil
}

// checkProcesses refuses to begin replicas with another number of processes than the cluster had without: those that had the other shards
// would be missing, or shards would wait for processes that never had any.
func checkProcesses(opts *Options, processes int) error {
	was, err := readProcesses(opts)
	if err == nil && was != 0 && was != processes {
		err = invalid("%s belongs to a cluster of %d processes without replicas, and there are %d addresses: replicas begin with the same processes", opts.Dir, was, processes)
	}
	return err
}
