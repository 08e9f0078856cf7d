// Package exec compiles a plan to operators and runs them over shards.
//
// A plan.Query is compiled once to a tree of stages, which is never changed after that and serves any number of runs at
// the same time. A run builds an operator from each stage; operators pull batches of about graph.BatchSize rows from
// one another:
//
//	Compile     plan.Node  ── compiler ──▶ stage     which columns live where, subplans, checks
//	Run         stage      ── build ─────▶ operator  buffers, evaluators with the parameters' values
//	Rows.Next   operator.next ──▶ batch ──▶ entities filled in ──▶ graph.Batch
//
// # Columns
//
// A stage says which plan columns its batches have, in which order (stage.cols); compilation goes from the result
// downwards and hands each node the set of columns that are needed above it, so that no stage carries what nobody
// reads. A batch column holds vertex ids or values, whichever its producer likes, batch by batch (graph.Column).
//
// # Subplans
//
// A correlated subplan runs for a whole batch of outer rows at a time. Its frame holds that batch; the Argument at its
// bottom gives the rows, and from there on every batch says for each row which row of the frame it belongs to
// (batch.row). Operators that pass rows on pass these numbers on; operators that combine rows do so for each number by
// itself. At the top level batch.row is nil. Outside of a subplan and inside, the same operators do the work.
package exec
