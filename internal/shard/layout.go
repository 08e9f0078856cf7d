package shard

// Layout assigns shards to the processes of a new cluster: process (s + r) mod Processes keeps replica r of shard s. The members of
// the groups say where replicas are that have moved.
type Layout struct {
	Processes int `json:"processes"`
	Shards    int `json:"shards"`
	Replicas  int `json:"replicas"`
}

// Keepers returns the processes that keep a shard of a new cluster.
func (l Layout) Keepers(shard int) []int {
	out := make([]int, l.Replicas)
	for r := range out {
		out[r] = (shard + r) % l.Processes
	}
	return out
}

// The id of a replica tells its process. Those of a new cluster are one more than their processes. One that is added has one more than
// its process in the upper bits, and in the lower ones an entry of its group's log behind which it was added: no id is used twice.
const addedBits = 48

// First is the id of the replicas of a process in a new cluster.
func (l Layout) First(process int) uint64 { return uint64(1 + process) }

// Added is the id of a replica of a process that is added behind an entry of its group's log.
func (l Layout) Added(process int, entry uint64) uint64 {
	return uint64(1+process)<<addedBits | entry
}

// Process is the process of a replica.
func (l Layout) Process(replica uint64) int {
	if p := replica >> addedBits; p > 0 {
		return int(p) - 1
	}
	return int(replica - 1)
}
