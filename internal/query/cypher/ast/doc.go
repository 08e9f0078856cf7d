// Package ast is the syntax tree of an openCypher statement, with places, walking and printing.
//
// The tree says what was written and nothing else: no scopes, no types, no plans. Sums (Body, Clause, Expr, LabelExpr,
// PathElement, SetItem, RemoveItem) are small interfaces whose implementations all live here and are always pointers, so a
// type switch over them can be complete. An optional part is a nil pointer, a nil interface or an empty slice.
//
//	Statement ─ Query ─ SingleQuery ─ Clause ─┬─ PathPattern ─ PathElement ─ LabelExpr
//	          └ command (index, graph, show)  └─ Expr
package ast
