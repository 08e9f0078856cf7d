package graph

// CheckpointFile is a file of a checkpoint.
type CheckpointFile struct {
	Path   string // relative to the data directory, with slashes
	Size   int64  // in bytes
	SHA256 [32]byte
}
