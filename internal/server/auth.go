package server

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
)

// What a call may do in a graph the engine checks, which knows the statement. Here stands who is known at all, and who
// may use what concerns the whole server.

// guard asks an HTTP request for a token, if tokens are asked for, before f sees it. failed writes an error.
func (h *HTTP) guard(f http.HandlerFunc, failed func(http.ResponseWriter, error)) http.HandlerFunc {
	if h.opt.Auth == nil {
		return f
	}
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, err := h.opt.Auth.Authenticate(r.Context(), r.Header.Get("Authorization"))
		if err != nil {
			refuse(w, err, failed)
			return
		}
		f(w, r.WithContext(ctx))
	}
}

func refuse(w http.ResponseWriter, err error, failed func(http.ResponseWriter, error)) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="hopgate"`)
	failed(w, err)
}

// guardAdmin lets nobody but admins of all graphs use a handler of the admin listener.
func guardAdmin(auth *access.Authenticator, next http.Handler) http.Handler {
	if auth == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := auth.Authenticate(r.Context(), r.Header.Get("Authorization"))
		if err != nil {
			refuse(w, err, fail)
			return
		}
		if err := access.CheckEvery(ctx, access.Admin); err != nil {
			fail(w, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// openMethods are the gRPC services that nobody needs a token for.
const openMethods = "/grpc.health.v1.Health/"

// everyone are the methods of AdminService that are not for admins alone: what they show or end is the caller's own, or
// of graphs that the caller may read.
var everyone = map[string]bool{"Schema": true, "Stats": true, "RunningQueries": true, "KillQuery": true, "Version": true}

// enter finds who calls a gRPC method and whether they may.
func enter(ctx context.Context, opt *Options, method string) (context.Context, error) {
	if opt.Auth == nil || strings.HasPrefix(method, openMethods) {
		return ctx, nil
	}
	header := ""
	if md, ok := metadata.FromIncomingContext(ctx); ok && len(md.Get("authorization")) > 0 {
		header = md.Get("authorization")[0]
	}
	ctx, err := opt.Auth.Authenticate(ctx, header)
	if err != nil {
		return ctx, grpcError(err)
	}
	name, admin := strings.CutPrefix(method, "/hopgate.v1.AdminService/")
	if !admin || everyone[name] {
		return ctx, nil
	}
	err = access.CheckEvery(ctx, access.Admin)
	opt.Audit.Record(ctx, "admin", "", name, outcomeOf(err))
	if err != nil {
		return ctx, grpcError(err)
	}
	return ctx, nil
}

// outcomeOf is how the audit log calls the end of a request.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return graph.AsError(err).Code
}

// authUnary and authStream do so for every call.
func authUnary(opt *Options) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		ctx, err := enter(ctx, opt, info.FullMethod)
		if err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

func authStream(opt *Options) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if opt.Auth == nil {
			return next(srv, ss)
		}
		ctx, err := enter(ss.Context(), opt, info.FullMethod)
		if err != nil {
			return err
		}
		return next(srv, identified{ss, ctx})
	}
}

// identified is a stream with more in its context: who calls, or when the call came.
type identified struct {
	grpc.ServerStream
	ctx context.Context
}

// Context gives that context.
func (s identified) Context() context.Context { return s.ctx }
