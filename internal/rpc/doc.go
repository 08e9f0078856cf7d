// Package rpc makes calls between the processes of a cluster, over gRPC. It knows nothing of what they call each other for.
//
// A Caller starts a call and returns a function that waits for the answer, so that a request to several processes sends all its calls, on its
// own goroutine, before it waits for the first answer. What callers do is layered:
//
//	Hedger       repeats a slow call over a second connection; the first answer counts
//	  │
//	Batched      sends the short calls of one Group to one process as one call
//	  │
//	Connection   sends calls over streams that it keeps, in frames; a call on a stream that has died is sent again
//	  │   └── Heartbeat   pings the process, and fails all calls to it while there is no answer
//	  │
//	grpc.ClientConn       from Dial: HTTP/2, TLS, keepalive
//
// On the other side, Services.Register makes a gRPC server take the calls of streams:
//
//	stream ─► frames ─► streamServer ─► method of a service ─► answer, or status ─► frames
//
// # Streams and frames
//
// A stream carries one call after the other. A call, and an answer, travel in frames of FrameBytes, so no gRPC message exceeds 4 MiB. The first
// frame of a call has the name of the method and the time until the deadline. A call that is cancelled closes its stream, which cancels the
// context of the handler.
//
//	call     flags │ length, method │ nanoseconds │ body …   flags │ body …
//	answer   flags │ body …                                  flags │ body …
//
// # Idempotence
//
// Whether a call may be sent again is its idempotency_level in the .proto file. An idempotent call takes an idle stream, which may have died
// since its last call; then it is sent again on a new one. Others get a new stream, and fail if that dies. Retries spaces the tries of callers
// that repeat idempotent calls themselves.
//
// # Failures
//
// Every failure is a gRPC status. UNAVAILABLE stands for a process that does not answer: there is no connection, the stream has died, or the
// heartbeat has stopped. Whether another process is asked then is up to the caller.
package rpc
