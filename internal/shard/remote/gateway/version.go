package gateway

import (
	"context"
	"encoding/binary"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// mostVersions bounds the versions that a snapshot remembers.
const mostVersions = 256

// versions are the versions of parts of a snapshot that the leader has told. They stay as they are.
type versions struct {
	mu    sync.Mutex
	known map[string]shard.Version
}

// versioned is the shard.Versioned of a transaction.
type versioned Tx

// Version implements shard.Versioned: it asks the leader once for each snapshot. A leader of an older release does not know.
func (t *versioned) Version(ctx context.Context, parts *shard.Parts) (v shard.Version, ok bool, err error) {
	tx := (*Tx)(t)
	if err := tx.check(ctx); err != nil || !tx.clean() || tx.mode != shard.Read {
		return v, false, err
	}
	l := tx.l
	key := keyOf(parts)
	l.told.mu.Lock()
	v, ok = l.told.known[string(key)]
	l.told.mu.Unlock()
	if ok {
		return v, true, nil
	}
	r := &pb.VersionRequest{
		Tx: l.id, Labels: wire.Numbers[uint32](parts.Labels), Types: wire.Numbers[uint32](parts.Types), Props: wire.Numbers[uint32](parts.Props), Any: uint32(parts.Any),
	}
	limited, cancel := peers.Within(ctx)
	defer cancel()
	var a *pb.VersionResponse
	err = peers.Retry(ctx, limited, leaderName, func(ctx context.Context) (err error) {
		if a, err = tx.g.s.lead.Version(ctx, r); status.Code(err) == codes.Unimplemented {
			a, err = nil, nil
		}
		return err
	})
	if err != nil || !a.GetKnown() {
		return v, false, err
	}
	v = shard.Version{Opened: a.GetOpened(), Commit: a.GetCommit()}
	l.told.mu.Lock()
	defer l.told.mu.Unlock()
	if l.told.known == nil || len(l.told.known) >= mostVersions {
		l.told.known = map[string]shard.Version{}
	}
	l.told.known[string(key)] = v
	return v, true, nil
}

// keyOf returns bytes that tell parts apart.
func keyOf(p *shard.Parts) []byte {
	key := []byte{byte(p.Any)}
	key = appendNumbers(key, p.Labels)
	key = appendNumbers(key, p.Types)
	return appendNumbers(key, p.Props)
}

func appendNumbers[T ~uint32](dst []byte, all []T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for _, n := range all {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}
