package rpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// streamServer answers the calls of streams.
type streamServer struct {
	services *Services
	servers  map[string]any // by service
}

// serve answers the calls of one stream.
func (l *streamServer) serve(_ any, stream grpc.ServerStream) error {
	var first frame
	var call, answer []byte
	for {
		var err error
		call, _, err = receive(stream, &first, call[:0])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out := frame{}
		if answer, out.failed, err = l.answer(stream.Context(), &first, call, answer[:0]); err != nil {
			return err
		}
		if _, err := send(stream, &out, answer); err != nil {
			return err
		}
		if cap(call) > FrameBytes {
			call = nil
		}
		if cap(answer) > FrameBytes {
			answer = nil
		}
	}
}

// answer answers a call. It appends the answer to dst, a status if failed is set.
func (l *streamServer) answer(ctx context.Context, first *frame, call, dst []byte) (body []byte, failed bool, err error) {
	m := l.services.methods[string(first.method)]
	if m == nil || l.servers[m.service] == nil {
		return appendStatus(dst, status.Error(codes.Unimplemented, "this process does not serve the call"))
	}
	if first.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, first.timeout)
		defer cancel()
	}
	return m.answer(ctx, l.servers[m.service], call, dst)
}

// answer has a server answer a call. It appends the answer to dst, a status if failed is set.
func (m *method) answer(ctx context.Context, server any, call, dst []byte) (body []byte, failed bool, err error) {
	out, err := m.desc.Handler(server, ctx, func(message any) error {
		in, ok := message.(proto.Message)
		if !ok {
			return status.Error(codes.Internal, "no message")
		}
		return proto.Unmarshal(call, in)
	}, nil)
	answer, ok := out.(proto.Message)
	if err == nil && !ok {
		err = status.Error(codes.Internal, "no message")
	}
	if err != nil {
		return appendStatus(dst, err)
	}
	if body, err = (proto.MarshalOptions{}).MarshalAppend(dst, answer); err != nil {
		return appendStatus(dst, err)
	}
	return body, false, nil
}

// appendStatus appends a status as an answer.
func appendStatus(dst []byte, failure error) (body []byte, failed bool, err error) {
	st, ok := status.FromError(failure)
	if !ok {
		st = status.FromContextError(failure) // as gRPC does
	}
	body, err = (proto.MarshalOptions{}).MarshalAppend(dst, st.Proto())
	return body, true, err
}
