package server

import (
	"context"
	"io"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
)

// What a call may do in a graph the engine checks, which knows the statement. Here stands who is known at all, and who
// may use what concerns the whole server.

// guard asks an HTTP request for a token, if tokens are asked for, else whether a web page that must not may have sent it,
// and whether its caller has sent too many, before f sees it and its body is read. failed writes an error.
func (h *HTTP) guard(f http.HandlerFunc, failed func(http.ResponseWriter, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h.checkWeb(r); err != nil {
			failed(w, err)
			return
		}
		if h.opt.Auth == nil && h.opt.Rates == nil {
			f(w, r)
			return
		}
		ctx, err := h.opt.Auth.Authenticate(r.Context(), r.Header.Get("Authorization"))
		if err != nil {
			refuse(w, err, failed)
			return
		}
		ctx, meter, err := h.opt.Rates.Arrive(ctx)
		if err != nil {
			w.Header().Set("Connection", "close") // rather than read what comes
			failed(w, err)
			return
		}
		if s, ok := w.(*statusWriter); ok && meter != nil {
			s.meter, s.ctx = meter, ctx
			r.Body = meteredBody{r.Body, meter}
		}
		f(w, r.WithContext(ctx))
	}
}

// meteredBody counts what a request brings.
type meteredBody struct {
	io.ReadCloser
	m *access.Meter
}

func (b meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.m.Count(n)
	return n, err
}

func refuse(w http.ResponseWriter, err error, failed func(http.ResponseWriter, error)) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="hopgate"`)
	failed(w, err)
}

// guardAdmin lets nobody but admins of all graphs use a handler of the admin listener, and without tokens no foreign web page.
func guardAdmin(auth *access.Authenticator, web *access.Web, next http.Handler) http.Handler {
	if auth == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := web.Check(r); err != nil {
				fail(w, err)
				return
			}
			next.ServeHTTP(w, r)
		})
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
func enter(ctx context.Context, opt *Options, method string) (context.Context, *access.Meter, error) {
	if strings.HasPrefix(method, openMethods) {
		return ctx, nil, nil
	}
	ctx, err := authenticate(ctx, opt, method)
	if err != nil {
		return ctx, nil, grpcError(err)
	}
	ctx, meter, err := opt.Rates.Arrive(ctx)
	if err != nil {
		return ctx, nil, grpcError(err)
	}
	return ctx, meter, nil
}

// authenticate finds who calls a gRPC method and whether they may, if tokens are asked for.
func authenticate(ctx context.Context, opt *Options, method string) (context.Context, error) {
	if opt.Auth == nil {
		return ctx, nil
	}
	header := ""
	if md, ok := metadata.FromIncomingContext(ctx); ok && len(md.Get("authorization")) > 0 {
		header = md.Get("authorization")[0]
	}
	ctx, err := opt.Auth.Authenticate(ctx, header)
	if err != nil {
		return ctx, err
	}
	name, admin := strings.CutPrefix(method, "/hopgate.v1.AdminService/")
	if !admin || everyone[name] {
		return ctx, nil
	}
	err = access.CheckEvery(ctx, access.Admin)
	opt.Audit.Record(ctx, "admin", "", name, outcomeOf(err))
	return ctx, err
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
		ctx, meter, err := enter(ctx, opt, info.FullMethod)
		if err != nil {
			return nil, err
		}
		count(meter, req)
		res, err := next(ctx, req)
		count(meter, res)
		return res, err
	}
}

func authStream(opt *Options) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if opt.Auth == nil && opt.Rates == nil {
			return next(srv, ss)
		}
		ctx, meter, err := enter(ss.Context(), opt, info.FullMethod)
		if err != nil {
			return err // before its message is in memory
		}
		if meter != nil {
			return next(srv, &meteredStream{identified: identified{ss, ctx}, m: meter})
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

// meteredStream is a stream whose messages are counted. Of each side all but the first wait while there were too many bytes: a
// client that sends on is held back by the window of its stream.
type meteredStream struct {
	identified
	m              *access.Meter
	received, sent bool
}

// RecvMsg receives a message, once more bytes may come.
func (s *meteredStream) RecvMsg(m any) error {
	if s.received {
		s.m.Wait(s.ctx)
	}
	s.received = true
	err := s.identified.RecvMsg(m)
	if err == nil {
		count(s.m, m)
	}
	return err
}

// SendMsg sends a message, once more bytes may go.
func (s *meteredStream) SendMsg(m any) error {
	if s.sent {
		s.m.Wait(s.ctx)
	}
	s.sent = true
	count(s.m, m)
	return s.identified.SendMsg(m)
}

// count counts a message, if anybody does.
func count(meter *access.Meter, m any) {
	if p, ok := m.(proto.Message); ok && meter != nil {
		meter.Count(proto.Size(p))
	}
}
