// Package commitlog numbers the commits of a graph and keeps the last ones of them in a log, for those who read what has changed.
//
//	commit   Log.Next → storage.Commit, which writes the records into the shards' batches → Log.Done
//	reader   LogState, ReadLog over the newest snapshot, AwaitLog
//	cutter   once a minute, and as bytes come: deletes the oldest commits, beyond the bytes or the age that are to be kept,
//	         but none since the oldest named snapshot, see package named
//
// The number, the time and the bytes of the log by then are stored with each commit, with or without a log: numbers go on after a restart,
// in another process, and in a copy of the graph.
package commitlog
