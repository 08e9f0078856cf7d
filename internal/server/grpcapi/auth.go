package grpcapi

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// The engine checks the permissions of a call on a graph, because it knows the statement. This file authenticates callers and checks
// permissions on the whole server.

// openMethods are the gRPC services that need no token.
const openMethods = "/grpc.health.v1.Health/"

// everyone lists the methods of AdminService that are not restricted to admins: they concern the caller's own requests, or graphs that the
// caller may read.
var everyone = map[string]bool{"Schema": true, "Stats": true, "RunningQueries": true, "KillQuery": true, "Version": true}

// connected returns a context that names the connection of a call.
func connected(ctx context.Context) context.Context {
	s := query.Session{Protocol: "grpc"}
	if p, ok := peer.FromContext(ctx); ok {
		s.From, s.To = p.Addr, p.LocalAddr
	}
	return query.WithOwnSession(ctx, s)
}

// enter authenticates and authorises a call and applies its rate limits.
func enter(ctx context.Context, host *request.Host, method string) (context.Context, *access.Meter, error) {
	if strings.HasPrefix(method, openMethods) {
		return ctx, nil, nil
	}
	ctx, err := authenticate(connected(ctx), host, method)
	if err != nil {
		return ctx, nil, wire.GRPCError(err)
	}
	ctx, meter, err := host.Rates.Arrive(ctx)
	if err != nil {
		return ctx, nil, wire.GRPCError(err)
	}
	return ctx, meter, nil
}

// authenticate identifies the caller of a method and checks its permission, if authentication is on.
func authenticate(ctx context.Context, host *request.Host, method string) (context.Context, error) {
	if host.Auth == nil {
		return ctx, nil
	}
	header := ""
	if md, ok := metadata.FromIncomingContext(ctx); ok && len(md.Get("authorization")) > 0 {
		header = md.Get("authorization")[0]
	}
	ctx, err := host.Auth.Authenticate(ctx, header)
	if err != nil {
		return ctx, err
	}
	if !forAdmins(method) {
		return ctx, nil
	}
	err = access.CheckEvery(ctx, access.Admin)
	host.Audit.Record(ctx, "admin", "", strings.TrimPrefix(method, adminMethods), wire.Outcome(err))
	return ctx, err
}

const adminMethods = "/hopgate.v1.AdminService/"

// forAdmins reports whether a method is restricted to admins.
func forAdmins(method string) bool {
	name, admin := strings.CutPrefix(method, adminMethods)
	return admin && !everyone[name]
}

// authUnary and authStream call enter for every call.
func authUnary(host *request.Host) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		ctx, meter, err := enter(ctx, host, info.FullMethod)
		if err != nil {
			return nil, err
		}
		count(meter, req)
		var of quota.Notice
		res, err := next(quota.WithNotice(ctx, &of), req)
		if md := quotaTrailer(&of); md != nil {
			_ = grpc.SetTrailer(ctx, md) // which fails only without a stream
		}
		count(meter, res)
		return res, err
	}
}

func authStream(host *request.Host, open *streams) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		g, err := open.open(ss)
		if err != nil {
			return err
		}
		defer open.close(g)
		if g.ctx, g.meter, err = enter(g.ctx, host, info.FullMethod); err != nil {
			return err // before its message is in memory
		}
		if r, ok := g.ctx.Value(receivingKey{}).(*receiving); ok {
			r.caller = g.ctx
		}
		if grant := access.Granted(g.ctx); grant != nil {
			check := grant.Still
			if forAdmins(info.FullMethod) {
				check = func() error { return access.CheckEvery(g.ctx, access.Admin) }
			}
			g.check.Store(&check)
		}
		g.ctx = quota.WithNotice(g.ctx, &g.quotas)
		err = next(srv, g)
		if md := quotaTrailer(&g.quotas); md != nil {
			ss.SetTrailer(md)
		}
		return err
	}
}

// quotaTrailer returns the metadata that tell what is left of the quotas of a call's caller, as HTTP's fields of these names do, or nil.
func quotaTrailer(of *quota.Notice) metadata.MD {
	policy, left := of.Accounts().Fields()
	if policy == "" {
		return nil
	}
	return metadata.Pairs("ratelimit-policy", policy, "ratelimit", left)
}

// identified is a stream with an extended context: the time of arrival.
type identified struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the extended context.
func (s identified) Context() context.Context { return s.ctx }

// count counts a message if there is a meter.
func count(meter *access.Meter, m any) {
	if meter == nil {
		return
	}
	switch m := m.(type) {
	case *encoded:
		meter.Count(m.size)
	case proto.Message:
		meter.Count(proto.Size(m))
	}
}
