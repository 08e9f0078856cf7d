// Package wire has the messages between the processes of a cluster, as both sides encode and decode them.
//
//	gateway, leader                                       process
//	Encode… ─► pb.Request ─► rpc.Connection ─► frames ─► Decode… ─► shard.PartTx
//	Decode… ◄─ pb.Response ◄─────────────────────────── Encode… ◄─────┘
//
// Messages are protobuf, of api/proto/hopgate/shard/v1. What is large in them, vertices, edges and values, is columns of bytes: ids as
// differences, sets as bitmaps where those are shorter (columns.go). Decoders check all counts, so that no input makes them panic, or take much
// more memory than it is long; fuzzers test that.
//
// # Errors
//
// An answer is a message or a status (status.go). A status with a pb.Fault is an answer too: FromStatus returns the graph.Error that it
// carries. All others stand for a call without an answer, which the caller may repeat if it is idempotent:
//
//	status                           error             retryable
//	with a Fault                     the graph.Error   no
//	UNAVAILABLE                      KindUnavailable   yes: the process or the connection has failed; NotLeading may name the leader
//	CANCELED, DEADLINE_EXCEEDED      KindUnavailable   yes, unless the request itself has run out of time
//	UNIMPLEMENTED                    KindUnavailable   yes: another process is at the address now
//	any other                        KindInternal      no
//
// LostCalls counts the calls without an answer.
package wire
