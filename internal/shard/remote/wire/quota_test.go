package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/quota"
)

func TestQuotaMessages(t *testing.T) {
	of := access.Subject{Issuer: "idp", Name: "ann"}
	r := &quota.Report{Process: math.MaxUint64, List: "g", Entries: []quota.Entry{
		{Graph: "g", Quota: "q", Shape: 1 << 63, Subject: of, Window: 7, Used: math.MaxInt64, Granted: 3, Wants: true}, {},
	}}
	b, err := proto.Marshal(EncodeQuotaReport(r))
	require.NoError(t, err)
	var report pb.ShareQuotasRequest
	require.NoError(t, proto.Unmarshal(b, &report))
	require.Equal(t, r, DecodeQuotaReport(&report))
	report.Accounts[0].Used, report.Accounts[0].Granted = -1, math.MinInt64
	require.Equal(t, []int64{0, 0}, []int64{DecodeQuotaReport(&report).Entries[0].Used, DecodeQuotaReport(&report).Entries[0].Granted})

	a := &quota.Answer{
		Lender: 5, Now: 1e18, Grants: []quota.Grant{{Window: 7, Granted: 3, Others: 9}, {}},
		Uses: []quota.SharedUse{{Quota: "q", Shape: 2, Subject: of, Used: 4}},
	}
	b, err = proto.Marshal(EncodeQuotaAnswer(a))
	require.NoError(t, err)
	var answer pb.ShareQuotasResponse
	require.NoError(t, proto.Unmarshal(b, &answer))
	require.Equal(t, a, DecodeQuotaAnswer(&answer))
}
