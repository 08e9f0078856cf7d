// Package named keeps the named snapshots of a graph: names for commits, which hold what its commit log has since them.
//
//	CREATE SNAPSHOT s ── Create ──► definitions of the graph ──► replicas, backups
//	the log's cutter  ◄── Oldest, Expired ──┤
//	USE g AS OF SNAPSHOT s ◄── Get ─────────┘
//
// A snapshot copies nothing. What it costs is the part of the log that would be gone without it.
package named
