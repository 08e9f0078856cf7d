// Package definition keeps what users define in a graph beside its data: named records of a few kinds, such as access rules, which the
// catalog of the graph stores, replicates, backs up and tells every gateway.
//
//	owner of a kind ── Register, Change ──► shard.Graph.Define ── Set.Apply ──► catalog in storage ──► replicas, backups
//	owner of a kind ◄── Kind.All, Kind.Get ── Set ◄── shard.Graph.Definitions ◄── storage, or a gateway's copy
//
// A package that owns a kind registers it with a decoder, and needs nothing of storage, RPC or the gateways. A record that its decoder
// refuses is not stored, and a store that has one, or one of a kind that the program does not know, is not opened: what a newer program
// defined may restrict what callers may do. The set has a version, as descriptors of CockroachDB have, on which a change can depend.
package definition
