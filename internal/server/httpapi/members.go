package httpapi

import (
	"net/http"
	"strconv"

	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
)

// memberJSON is a replica; a process that keeps none or does not answer has no shard.
type memberJSON struct {
	Process     int    `json:"process"`
	Address     string `json:"address"`
	Shard       *int   `json:"shard,omitempty"`
	Role        string `json:"role"`
	Replica     uint64 `json:"replica"`
	Term        uint64 `json:"term"`
	Commit      uint64 `json:"commit"`
	Applied     uint64 `json:"applied"`
	LogBytes    uint64 `json:"logBytes"`
	SeedBytes   uint64 `json:"seedBytes"`
	SeededBytes uint64 `json:"seededBytes"`
	Note        string `json:"note,omitempty"`
}

// members lists the replicas of all processes.
func (h *Handler) members(w http.ResponseWriter, r *http.Request) {
	m, err := h.e.StoreFeatures().Replicas()
	var all []shard.Member
	if err == nil {
		all, err = m.Members(r.Context())
	}
	if err != nil {
		wire.Fail(w, err)
		return
	}
	out := make([]memberJSON, len(all))
	for i := range all {
		a := &all[i]
		out[i] = memberJSON{
			Process: a.Process, Address: a.Address, Role: a.Role, Replica: a.Replica, Term: a.Term, Commit: a.Commit, Applied: a.Applied, LogBytes: a.LogBytes,
			SeedBytes: a.SeedBytes, SeededBytes: a.SeededBytes, Note: a.Note,
		}
		if a.Shard >= 0 {
			out[i].Shard = &a.Shard
		}
	}
	writeJSON(w, map[string]any{"members": out})
}

// addMember adds a process.
func (h *Handler) addMember(w http.ResponseWriter, r *http.Request) {
	m, err := h.e.StoreFeatures().Replicas()
	process, added := 0, false
	if err == nil {
		process, added, err = m.AddMember(r.Context(), r.URL.Query().Get("address"))
	}
	if err != nil {
		wire.Fail(w, err)
		return
	}
	writeJSON(w, map[string]any{"process": process, "added": added})
}

// removeMember removes a process.
func (h *Handler) removeMember(w http.ResponseWriter, r *http.Request) {
	m, err := h.e.StoreFeatures().Replicas()
	process := 0
	if err == nil {
		process, err = ordinal(r, "process")
	}
	if err == nil {
		err = m.RemoveMember(r.Context(), process)
	}
	if err != nil {
		wire.Fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// replaceMember gives a process that has lost its data directory new replicas.
func (h *Handler) replaceMember(w http.ResponseWriter, r *http.Request) {
	m, err := h.e.StoreFeatures().Replicas()
	replaced, process := 0, 0
	if err == nil {
		process, err = ordinal(r, "process")
	}
	if err == nil {
		replaced, err = m.ReplaceMember(r.Context(), process)
	}
	if err != nil {
		wire.Fail(w, err)
		return
	}
	writeJSON(w, map[string]any{"replaced": replaced})
}

// moveReplica moves a replica of a shard from one process to another.
func (h *Handler) moveReplica(w http.ResponseWriter, r *http.Request) {
	m, err := h.e.StoreFeatures().Replicas()
	var numbers [3]int
	for i, name := range []string{"shard", "from", "to"} {
		if err == nil {
			numbers[i], err = ordinal(r, name)
		}
	}
	deleted := false
	if err == nil {
		deleted, err = m.MoveReplica(r.Context(), numbers[0], numbers[1], numbers[2])
	}
	if err != nil {
		wire.Fail(w, err)
		return
	}
	writeJSON(w, map[string]any{"deleted": deleted})
}

// transferLead hands the lead of a shard to a process.
func (h *Handler) transferLead(w http.ResponseWriter, r *http.Request) {
	m, err := h.e.StoreFeatures().Replicas()
	no, process := 0, 0
	if err == nil {
		no, err = ordinal(r, "shard")
	}
	if err == nil {
		process, err = ordinal(r, "process")
	}
	if err == nil {
		err = m.TransferLead(r.Context(), no, process)
	}
	if err != nil {
		wire.Fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// ordinal reads the number of a shard or process in a path.
func ordinal(r *http.Request, name string) (int, error) {
	n, err := strconv.ParseUint(r.PathValue(name), 10, 16)
	if err != nil {
		return 0, wire.RequestError(name + ": must be a number of the list of members")
	}
	return int(n), nil
}
