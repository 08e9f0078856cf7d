// Package oracle is a naive in-memory graph that answers slowly and plainly; tests alone import it.
//
// It keeps every contract of package shard and enforces the callers' side of it: a frontier that is not sorted, an
// edge that is named with the wrong ends or a transaction used after its end is an internal error.
package oracle
