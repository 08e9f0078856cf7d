// Package oracle is a naive in-memory graph that is slow and simple; only tests import it.
//
// It satisfies the contracts of package shard and enforces the callers' side of them: an unsorted frontier, an edge with the wrong ends, or
// a transaction used after its end is an internal error.
package oracle
