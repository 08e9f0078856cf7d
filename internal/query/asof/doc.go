// Package asof finds the commit of a graph's log that a request means by a moment, and has its transactions read the graph as of that.
//
//	USE g AS OF $at                    ─ Query ─┐
//	?at=, "at", Hopgate-At, hopgate.at ─ Parse ─┴► Moment ─ With ─► context ─► past.Graph.Begin ─ Find ─► commit 40
//
// A moment is a token of the graph's commits, see package token, a named snapshot, see package named, or a time, which means the last commit at
// or before it. A time is found by a binary search of the log, which reads one commit for each step.
package asof
