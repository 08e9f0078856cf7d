package server

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// unary counts a gRPC call and turns a panic into an error.
func (q *Requests) unary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
		start := time.Now()
		defer q.call(log, info.FullMethod, start, &err)
		return next(q.watch.Arrived(ctx, start), req)
	}
}

// stream does the same for a call of which one side is a stream.
func (q *Requests) stream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		start := time.Now()
		defer q.call(log, info.FullMethod, start, &err)
		if ctx := q.watch.Arrived(ss.Context(), start); ctx != ss.Context() {
			ss = identified{ss, ctx}
		}
		return next(srv, ss)
	}
}

// call is deferred around a call.
func (q *Requests) call(log *slog.Logger, method string, start time.Time, err *error) {
	if p := recover(); p != nil {
		*err = grpcError(q.panicked(log, method, p))
	}
	q.grpc.WithLabelValues(method, status.Code(*err).String()).Inc()
	elapsed := time.Since(start)
	q.grpcSeconds.WithLabelValues(method).Observe(elapsed.Seconds())
	if method != pb.AdminService_Top_FullMethodName && method != pb.AdminService_Trace_FullMethodName { // which are only watching
		q.tell(method, start, elapsed, *err != nil)
	}
}
