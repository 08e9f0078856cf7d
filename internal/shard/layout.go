package shard

// Layout assigns shards to the processes of a cluster: process (s + r) mod Processes keeps replica r of shard s.
type Layout struct {
	Processes int `json:"processes"`
	Shards    int `json:"shards"`
	Replicas  int `json:"replicas"`
}

// Keepers returns the processes that keep a shard.
func (l Layout) Keepers(shard int) []int {
	out := make([]int, l.Replicas)
	for r := range out {
		out[r] = (shard + r) % l.Processes
	}
	return out
}

// Replica is the id of the replicas of a process that has lost its disk so many times.
func (l Layout) Replica(process, losses int) uint64 { return uint64(1 + process + losses*l.Processes) }

// Process is the process of a replica.
func (l Layout) Process(replica uint64) int { return int((replica - 1) % uint64(l.Processes)) }
