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
