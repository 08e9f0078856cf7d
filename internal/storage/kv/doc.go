// Package kv runs a Pebble store so that its faults are errors, and defines what the packages above need of a store.
//
//	               Store
//	                 │
//	Apply ─ Guard ─ Pebble ─ syncedFS ─ faultFS ─ directFS or the file system
//	          │        │        │           │
//	          │        │        │           └ a failed write to log or manifest blocks its goroutine: the store stops
//	          │        │        └ records how far logs and manifests are synced, and verifies them before a replay
//	          │        └ background errors: a full disk makes the store refuse writes until there is space
//	          └ runs the call on another goroutine, and returns if that one blocks or panics
//
// Pebble exits or panics on faults of its log, its manifest and its blob files. An Instance instead refuses writes, with the first fault,
// and keeps serving reads; Health holds that state. A full disk stops writes only until there is space again.
//
// A commit is one write to the log: logFile buffers a batch and writes it with O_DIRECT to preallocated blocks. Apply returns once the
// batch can be read, and its wait function once it is durable, so that the caller can apply the next batch meanwhile. With snap, Apply also takes the
// snapshot that readers of the new state share.
//
// After a crash, Pebble cannot tell a torn write from damage, and drops the rest of the file in both cases. Two files tell them apart: SEAL
// has the checksums of the logs and manifests of a store that was closed, and SYNCED the offsets up to which they were synced. A store with
// damage in a synced part does not open.
//
// A store of a replica has no log. Each batch instead sets the index of its entry in the log of the replica; see entryLog.
package kv
