package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// replicated is a store with replicas that notes what is asked of it.
type replicated struct {
	shard.Store
	telemetry.Storage
	asked []int
	added string
}

// Shapes implements telemetry.Shaper.
func (r *replicated) Shapes(context.Context, string) ([]storage.Shape, error) { return nil, nil }

func (r *replicated) Features() shard.StoreFeatures { return shard.StoreFeatures{Members: r} }

func (r *replicated) Members(context.Context) ([]shard.Member, error) {
	return []shard.Member{
		{Process: 0, Address: "a:9190", Shard: 0, Replica: 1, Role: "leader", Term: 3, Commit: 9, Applied: 8, LogBytes: 100},
		{Process: 1, Address: "b:9190", Shard: -1, Role: "unreachable", Note: "it is away"},
	}, nil
}

func (r *replicated) ReplaceMember(_ context.Context, process int) (int, error) {
	r.asked = append(r.asked, process)
	return 3, nil
}

func (r *replicated) MoveReplica(_ context.Context, no, from, to int) (bool, error) {
	r.asked = append(r.asked, no, from, to)
	return from == 1, nil
}

func (r *replicated) TransferLead(_ context.Context, no, process int) error {
	r.asked = append(r.asked, no, process)
	if process == 2 {
		return errors.New("it is away")
	}
	return nil
}

func (r *replicated) AddMember(_ context.Context, address string) (int, bool, error) {
	r.added = address
	return 3, address != "b:9190", nil
}

func (r *replicated) RemoveMember(_ context.Context, process int) error {
	r.asked = append(r.asked, -process)
	return nil
}

// TestMembers lists and changes the replicas of a store, and refuses that where there are none.
func TestMembers(t *testing.T) {
	with := &replicated{Store: newOracle(t)}
	call := func(store shard.Store, method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		newHTTP(store, query.Options{}, Options{}).ServeHTTP(w, newRequest(method, path, ""))
		return w
	}
	w := call(with, http.MethodGet, "/v1/members")
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{"members": [
		{"process": 0, "address": "a:9190", "shard": 0, "role": "leader", "replica": 1, "term": 3, "commit": 9, "applied": 8, "logBytes": 100, "seedBytes": 0, "seededBytes": 0},
		{"process": 1, "address": "b:9190", "role": "unreachable", "replica": 0, "term": 0, "commit": 0, "applied": 0, "logBytes": 0, "seedBytes": 0, "seededBytes": 0, "note": "it is away"}
	]}`, w.Body.String())
	w = call(with, http.MethodPost, "/v1/members/1/replace")
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{"replaced": 3}`, w.Body.String())
	require.Equal(t, http.StatusNoContent, call(with, http.MethodPost, "/v1/shards/4/lead/5").Code)
	require.Equal(t, http.StatusInternalServerError, call(with, http.MethodPost, "/v1/shards/4/lead/2").Code)
	w = call(with, http.MethodPost, "/v1/shards/4/replicas/1/move/3")
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{"deleted": true}`, w.Body.String())
	require.Equal(t, []int{1, 4, 5, 4, 2, 4, 1, 3}, with.asked)
	w = call(with, http.MethodPost, "/v1/members?address=d%3A9190")
	require.JSONEq(t, `{"process": 3, "added": true}`, w.Body.String())
	require.Equal(t, "d:9190", with.added)
	require.Equal(t, http.StatusNoContent, call(with, http.MethodDelete, "/v1/members/2").Code)
	require.Equal(t, -2, with.asked[8])
	require.Equal(t, http.StatusBadRequest, call(with, http.MethodDelete, "/v1/members/d:9190").Code)
	for _, path := range []string{"/v1/shards/1/replicas/0/move/x", "/v1/members/x/replace", "/v1/members/-1/replace", "/v1/shards/70000/lead/1", "/v1/shards/1/lead/x"} {
		require.Equal(t, http.StatusBadRequest, call(with, http.MethodPost, path).Code, path)
	}
	require.Len(t, with.asked, 9)
	require.Equal(t, http.StatusBadRequest, call(newOracle(t), http.MethodPost, "/v1/members?address=d:1").Code)
	for path, method := range map[string]string{"/v1/members": http.MethodGet, "/v1/members/1": http.MethodDelete, "/v1/members/1/replace": http.MethodPost, "/v1/shards/0/lead/1": http.MethodPost, "/v1/shards/0/replicas/1/move/2": http.MethodPost} {
		w := call(newOracle(t), method, path)
		require.Equal(t, http.StatusBadRequest, w.Code, path)
		require.Contains(t, w.Body.String(), "its shards have no replicas")
	}
}
