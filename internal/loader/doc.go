// Package loader turns record files into batches and applies them to shards, each batch exactly once.
//
//	files ─ text ─ record (CSV, JSON lines, Parquet, Arrow)
//	          │ records, in chunks
//	        rows.go ◄── mapping: labels, types, keys, conversions
//	          │ columns, several chunks at a time (pipe.go)
//	        Batch 1, 2, 3, … (run.go), vertices before edges
//	          │ Sink.Pack, Sink.Send                      a server's, or NewLocal
//	        Session.Apply (session.go)                    in the server
//	          │ names to numbers, batches merged to one shard.Load
//	        shard.Graph.Load ──► one commit: rows, number and mark of the batch
//	          │
//	        Ack, with the rows refused ──► rejects file, progress
//
// A batch has three forms, one for each border that it passes: pb.LoadBatch on the wire, Batch with names, and shard.Load with the numbers
// that a graph gives to those names.
//
// Exactly once: batches of a load have numbers and marks, the places in its inputs. The commit of a batch stores both, so a run that
// begins again is told where to continue, and a batch that arrives twice counts once. A client that confirms refused rows once they are
// in its rejects file gets those that it has not confirmed again.
//
// An offline load (offline.go) needs no server: vertices take the path above, and edges are resolved, sorted and written as whole lists.
//
// The rest prepares a load: headers.go reads a mapping from the headers of neo4j-admin, plan.go puts the inputs in order, and dryrun.go
// tells what would be refused. Package text opens the inputs, and propose suggests a mapping for them.
package loader
