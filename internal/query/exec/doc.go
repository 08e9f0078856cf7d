// Package exec compiles a plan to operators and runs them over shards.
//
// A plan.Query is compiled once to a tree of stages, which is never changed after that and serves any number of runs at
// the same time. A run builds an operator from each stage; operators pull batches of about graph.BatchSize rows from
// one another:
//
//	Compile     plan.Node  ── compile.Compiler ──▶ runtime.Stage     which columns live where, subplans, checks
//	Run         runtime.Stage ── build ──────────▶ runtime.Operator  buffers, evaluators with the parameters' values
//	Rows.Next   Operator.Next ──▶ runtime.Batch ──▶ entities filled in ──▶ graph.Batch
//
// Operators live in packages by what they do: source, adjacency, search, relational, write. compileNode lists them by node.
// Below these lie exchange (several goroutines), compile (nodes to stages), expr (expressions) and runtime (what they all
// share); imports point that way only.
//
// # Columns
//
// A stage says which plan columns its batches have, in which order (Stage.Cols); compilation goes from the result
// downwards and hands each node the set of columns that are needed above it, so that no stage carries a column that is not
// read. A batch column holds vertex ids or values, whichever its producer likes, batch by batch (graph.Column).
//
// # Subplans
//
// A correlated subplan runs for a whole batch of outer rows at a time. Its frame holds that batch; the Argument at its
// bottom gives the rows, and from there on every batch says for each row which row of the frame it belongs to
// (Batch.Row). Operators that pass rows on pass these numbers on; operators that combine rows do so for each number by
// itself. At the top level Batch.Row is nil. Outside of a subplan and inside, the same operators do the work.
package exec
