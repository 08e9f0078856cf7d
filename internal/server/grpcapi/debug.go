package grpcapi

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// debugFiles are the sources of DebugInfo's files, besides the process itself.
type debugFiles struct {
	config   []byte
	metrics  prometheus.Gatherer
	evidence string // a directory, or ""
}

// debugFile is a file of DebugInfo.
type debugFile struct {
	name  string
	write func(io.Writer) error
}

// DebugInfo returns files that describe the state of the server.
func (s *adminService) DebugInfo(_ *pb.DebugInfoRequest, stream grpc.ServerStreamingServer[pb.DebugInfoResponse]) error {
	profile := func(kind string, debug int) func(io.Writer) error {
		return func(w io.Writer) error { return pprof.Lookup(kind).WriteTo(w, debug) }
	}
	files := []debugFile{
		{"config.yaml", func(w io.Writer) error { _, err := w.Write(s.debug.config); return err }},
		{"metrics.txt", s.debug.writeMetrics},
		{"goroutines.txt", profile("goroutine", 2)},
		{"goroutine.pb.gz", profile("goroutine", 0)},
		{"heap.pb.gz", profile("heap", 0)},
		{"mutex.pb.gz", profile("mutex", 0)},
		{"block.pb.gz", profile("block", 0)},
	}
	kept, err := s.debug.kept()
	if err != nil {
		return wire.GRPCError(err)
	}
	for _, f := range append(files, kept...) {
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return wire.GRPCError(err)
		}
		piece := &pb.DebugInfoResponse{File: f.name}
		for first := true; first || b.Len() > 0; first = false {
			piece.Chunk = b.Next(rowBytes)
			if err := stream.Send(piece); err != nil {
				return err
			}
			piece = &pb.DebugInfoResponse{}
		}
	}
	return nil
}

// kept returns the current files of evidence/MOMENT.
func (d debugFiles) kept() ([]debugFile, error) {
	if d.evidence == "" {
		return nil, nil
	}
	var files []debugFile
	root := os.DirFS(d.evidence)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // memory was never short, or the moment has been dropped meanwhile
		}
		if err != nil || entry.IsDir() {
			return err
		}
		files = append(files, debugFile{"evidence/" + name, func(w io.Writer) error {
			data, err := fs.ReadFile(root, name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			_, wrong := w.Write(data)
			return errors.Join(err, wrong)
		}})
		return nil
	})
	return files, err
}

// writeMetrics writes all metrics in Prometheus' text format.
func (d debugFiles) writeMetrics(w io.Writer) error {
	families, err := d.metrics.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}
