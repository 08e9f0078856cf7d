package server

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
)

// unary counts a gRPC call and turns a panic into an error.
func (q *Requests) unary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
		start := time.Now()
		ctx, id := q.requestOf(ctx)
		defer q.call(ctx, log, info.FullMethod, start, &err)
		_ = grpc.SetHeader(ctx, id) // fails only after the headers have been sent
		return next(q.watch.Arrived(ctx, start), req)
	}
}

// stream does the same for a call of which one side is a stream.
func (q *Requests) stream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		start := time.Now()
		ctx, id := q.requestOf(ss.Context())
		defer q.call(ctx, log, info.FullMethod, start, &err)
		_ = ss.SetHeader(id) // as above
		return next(srv, identified{ss, q.watch.Arrived(ctx, start)})
	}
}

// requestOf gives a call's context with the id of its request, and with its caller's span if traces are made, and the
// metadata that tell the client of the id.
func (q *Requests) requestOf(ctx context.Context) (context.Context, metadata.MD) {
	asked := ""
	if ids := metadata.ValueFromIncomingContext(ctx, requestHeader); len(ids) > 0 {
		asked = ids[0]
	}
	ctx, id := access.WithRequest(ctx, asked)
	if q.watch.Tracing() {
		md, _ := metadata.FromIncomingContext(ctx)
		ctx = traceContext(ctx, metadataCarrier{md})
	}
	return ctx, metadata.Pairs(requestHeader, id)
}

// call is deferred around a call.
func (q *Requests) call(ctx context.Context, log *slog.Logger, method string, start time.Time, err *error) {
	if p := recover(); p != nil {
		*err = grpcError(q.panicked(ctx, log, method, p))
	}
	code := status.Code(*err).String()
	q.grpc.WithLabelValues(method, code).Inc()
	elapsed := time.Since(start)
	if log.Enabled(ctx, slog.LevelDebug) {
		log.LogAttrs(ctx, slog.LevelDebug, "request", slog.String("method", method), slog.String("code", code), slog.Duration("elapsed", elapsed))
	}
	q.grpcSeconds.WithLabelValues(method).Observe(elapsed.Seconds())
	if method != pb.AdminService_Top_FullMethodName && method != pb.AdminService_Trace_FullMethodName { // which are only watching
		q.tell(method, start, elapsed, *err != nil)
	}
}
