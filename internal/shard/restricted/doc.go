// Package restricted shows a caller the part of a graph that the caller's policy permits, see package rules.
//
//	request ─ Graph ─ Begin ─ Tx ┬ reader:  scans, properties, hops ─┐
//	                             ├ indexes: look-ups, ranges         ├─ shard.Tx of the graph
//	                             └ writer:  checks each mutation     ┘
//
// A restricted transaction is composed of the basic requests (shard.Complete), each of which passes the policy: what is added to shard.Tx
// later is composed of these too, and cannot go around it. Hidden vertices and edges are absent from the answers, and hidden properties are
// null, so every operator above, whatever the transport, computes what it would compute on a graph without them. Requests that the
// policy leaves as they are go straight to the graph.
//
// A scope keeps what is the same for all callers with the same roles and claims: their policy, and a memo of which vertices it lets them see,
// which lasts from transaction to transaction until a vertex changes that could be in doubt.
package restricted
