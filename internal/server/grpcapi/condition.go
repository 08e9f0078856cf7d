package grpcapi

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/version"
)

// The metadata of conditions: the tags that a client sends, and the trailers of the answer.
const (
	noneKey       = "if-none-match"
	tagKey        = "etag"
	unmodifiedKey = "unmodified"
)

// condition returns what a call asks of a read: a tag if its metadata has if-none-match, of which "" matches no answer; else nil.
func condition(ctx context.Context) *fresh.Condition {
	list := metadata.ValueFromIncomingContext(ctx, noneKey)
	if list == nil {
		return nil
	}
	return &fresh.Condition{None: strings.Join(list, ","), Format: "gRPC\n" + version.Build()}
}

// tagTrailer tells the tag of an answer, which is weak as protocol buffers have no one form, and whether the client has it. It may be nil.
func tagTrailer(c *fresh.Condition) metadata.MD {
	if c == nil || c.Tag == "" {
		return nil
	}
	md := metadata.Pairs(tagKey, "W/"+c.Tag)
	if c.Unmodified {
		md.Set(unmodifiedKey, "true")
	}
	return md
}
