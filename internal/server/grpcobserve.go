package server

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// unary counts a gRPC call and turns a panic into an error.
func (q *Requests) unary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
		defer q.call(log, info.FullMethod, time.Now(), &err)
		return next(ctx, req)
	}
}

// stream does the same for a call of which one side is a stream.
func (q *Requests) stream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		defer q.call(log, info.FullMethod, time.Now(), &err)
		return next(srv, ss)
	}
}

// call is deferred around a call.
func (q *Requests) call(log *slog.Logger, method string, start time.Time, err *error) {
	if p := recover(); p != nil {
		*err = grpcError(q.panicked(log, method, p))
	}
	q.grpc.WithLabelValues(method, status.Code(*err).String()).Inc()
	q.grpcSeconds.WithLabelValues(method).Observe(time.Since(start).Seconds())
}
