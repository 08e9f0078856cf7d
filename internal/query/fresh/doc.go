// Package fresh knows whether the answer to a read is still what the read would give, and keeps requests from computing it twice.
//
//	plan ── Of ──► Reads ── Parts ──► shard.Versioned ──► Version ─┐
//	                                       statement, parameters, ─┴─► Key ──► Tag ─► client ─► If-None-Match: 304
//	                                       caller's rules                │
//	                                                                     └──► Answers: who computes it now, who has
//
// Reads are the parts of a graph on which the answer of a plan depends: labels, types, properties. They are found in the plan before it is
// optimized, whose operators are few, and only for operators and functions that are known to depend on nothing else; see Of. A part has a
// version, the number of the last commit that changed it. A Key is a hash of everything else that makes an answer, with the greatest version
// of the parts. So two requests with the same Key have the same answer, whichever snapshots they read, and a Key that is looked up once a
// request has begun covers all commits acknowledged before.
// A fetch runs several plans, and its answer depends on the Union of their Reads.
//
// The idea is that of validation by version numbers of what was read: Adya's read sets, and ETags of HTTP (RFC 9110, section 8.8.3).
package fresh
