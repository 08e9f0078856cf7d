package wire

import (
	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/quota"
)

// EncodeQuotaReport encodes what a process has used of quotas.
func EncodeQuotaReport(r *quota.Report) *pb.ShareQuotasRequest {
	out := &pb.ShareQuotasRequest{Process: r.Process, List: r.List, Accounts: make([]*pb.QuotaAccount, len(r.Entries))}
	for i := range r.Entries {
		e := &r.Entries[i]
		out.Accounts[i] = &pb.QuotaAccount{
			Graph: e.Graph, Quota: e.Quota, Shape: e.Shape, Issuer: e.Subject.Issuer, Caller: e.Subject.Name,
			Window: e.Window, Used: e.Used, Granted: e.Granted, Wants: e.Wants,
		}
	}
	return out
}

// DecodeQuotaReport decodes EncodeQuotaReport.
func DecodeQuotaReport(r *pb.ShareQuotasRequest) *quota.Report {
	out := &quota.Report{Process: r.GetProcess(), List: r.GetList(), Entries: make([]quota.Entry, len(r.GetAccounts()))}
	for i, a := range r.GetAccounts() {
		out.Entries[i] = quota.Entry{
			Graph: a.GetGraph(), Quota: a.GetQuota(), Shape: a.GetShape(), Subject: access.Subject{Issuer: a.GetIssuer(), Name: a.GetCaller()},
			Window: a.GetWindow(), Used: max(a.GetUsed(), 0), Granted: max(a.GetGranted(), 0), Wants: a.GetWants(),
		}
	}
	return out
}

// EncodeQuotaAnswer encodes what a process may use of quotas.
func EncodeQuotaAnswer(a *quota.Answer) *pb.ShareQuotasResponse {
	out := &pb.ShareQuotasResponse{Lender: a.Lender, Now: a.Now, Grants: make([]*pb.QuotaGrant, len(a.Grants))}
	for i, g := range a.Grants {
		out.Grants[i] = &pb.QuotaGrant{Window: g.Window, Granted: g.Granted, Others: g.Others}
	}
	for _, u := range a.Uses {
		out.Uses = append(out.Uses, &pb.QuotaAccount{Quota: u.Quota, Shape: u.Shape, Issuer: u.Subject.Issuer, Caller: u.Subject.Name, Used: u.Used})
	}
	return out
}

// DecodeQuotaAnswer decodes EncodeQuotaAnswer.
func DecodeQuotaAnswer(r *pb.ShareQuotasResponse) *quota.Answer {
	out := &quota.Answer{Lender: r.GetLender(), Now: r.GetNow(), Grants: make([]quota.Grant, len(r.GetGrants()))}
	for i, g := range r.GetGrants() {
		out.Grants[i] = quota.Grant{Window: g.GetWindow(), Granted: g.GetGranted(), Others: g.GetOthers()}
	}
	for _, u := range r.GetUses() {
		out.Uses = append(out.Uses, quota.SharedUse{Quota: u.GetQuota(), Shape: u.GetShape(), Subject: access.Subject{Issuer: u.GetIssuer(), Name: u.GetCaller()}, Used: u.GetUsed()})
	}
	return out
}
