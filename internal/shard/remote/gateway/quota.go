package gateway

import (
	"context"

	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// lender is the lender of quotas of the process that leads the cluster. It implements quota.Source.
type lender struct{ s *Store }

// Share implements quota.Source.
func (l lender) Share(ctx context.Context, r *quota.Report) (*quota.Answer, error) {
	a, err := peers.Call(ctx, leaderName, l.s.lead.ShareQuotas, wire.EncodeQuotaReport(r))
	if err != nil {
		return nil, err
	}
	return wire.DecodeQuotaAnswer(a), nil
}
