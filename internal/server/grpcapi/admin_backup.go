package grpcapi

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
)

const (
	backupChunk = 1 << 20 // bytes per message
	backupFiles = 4 << 10 // files per message
)

// noKeeper is the error for a store without maintenance.
func noKeeper() error {
	return graph.Unsupported("this server's store supports neither checks nor backups")
}

// Backup sends the files of a checkpoint that the client requests. The client controls the pace, and the checkpoint ends with its call.
func (s *adminService) Backup(stream grpc.BidiStreamingServer[pb.BackupRequest, pb.BackupResponse]) (err error) {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	begin := first.GetBegin()
	if begin == nil {
		return wire.GRPCError(wire.RequestError("backup: the first message must begin it"))
	}
	if s.maintainer == nil {
		return wire.GRPCError(noKeeper())
	}
	c, err := s.maintainer.Checkpoint(stream.Context(), begin.GetGraphs())
	if err != nil {
		return wire.GRPCError(err)
	}
	defer func() {
		if cerr := c.Close(); err == nil && cerr != nil {
			err = wire.GRPCError(cerr)
		}
	}()
	if err := sendFiles(stream, c); err != nil {
		return err
	}
	buf := make([]byte, backupChunk)
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, i := range req.GetWant().GetFiles() {
			if err := sendFile(stream, c, i, buf); err != nil {
				return err
			}
		}
		if req.GetDone() != nil {
			for _, name := range c.Graphs() {
				s.backedUp.WithLabelValues(name).Set(float64(c.Taken().UnixMilli()) / 1e3)
			}
		}
	}
}

func sendFiles(stream grpc.BidiStreamingServer[pb.BackupRequest, pb.BackupResponse], c shard.Checkpoint) error {
	files := c.Files()
	for {
		n := min(len(files), backupFiles)
		part := &pb.BackupFiles{}
		for i := range files[:n] {
			f := &files[i]
			part.Files = append(part.Files, &pb.BackupFile{Path: f.Path, Size: uint64(f.Size), Sha256: f.SHA256[:]})
		}
		files = files[n:]
		if len(files) == 0 {
			part.Last, part.Format, part.Taken, part.Graphs = true, uint32(c.Format()), timestamppb.New(c.Taken()), c.Graphs()
		}
		if err := stream.Send(&pb.BackupResponse{What: &pb.BackupResponse_Files{Files: part}}); err != nil {
			return err
		}
		if part.Last {
			return nil
		}
	}
}

func sendFile(stream grpc.BidiStreamingServer[pb.BackupRequest, pb.BackupResponse], c shard.Checkpoint, no uint32, buf []byte) (err error) {
	if int(no) >= len(c.Files()) {
		return wire.GRPCError(wire.RequestError(fmt.Sprintf("want: file %d does not exist", no)))
	}
	f, err := c.Open(int(no))
	if err != nil {
		return wire.GRPCError(err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = wire.GRPCError(cerr)
		}
	}()
	for last := false; !last; {
		n, err := io.ReadFull(f, buf)
		last = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return wire.GRPCError(err)
		}
		chunk := &pb.BackupChunk{File: no, Data: buf[:n], Last: last}
		if err := stream.Send(&pb.BackupResponse{What: &pb.BackupResponse_Chunk{Chunk: chunk}}); err != nil {
			return err
		}
	}
	return nil
}
