// Package cypher turns the text of an openCypher statement into a logical plan: parse, check, bind.
//
// The binder walks the clauses of a checked tree from left to right. A flow is the plan of the clauses so far; the scope
// says which column each variable is. Expressions that run a subplan (EXISTS, pattern comprehensions, …) and the clauses
// that do (CALL {…}, FOREACH, MERGE) open a frame, which records what the subplan takes from the row around it.
//
//	text ─ parse ─ ast ─ check ─ ast ─┬─ Bind ─ plan.Query
//	                                  └─ Command
package cypher
