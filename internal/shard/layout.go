package shard

// Layout says which processes of a cluster keep which shards: replica r of shard s is kept by process (s + r) mod Processes.
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
