// Package check applies the rules that openCypher puts at compile time to a syntax tree.
//
// What passes has its variables defined where they are used and with one kind, its aggregates only where groups are formed, its
// functions and procedures known, and no operand whose type is known from the text to be wrong. Values that only a run can know
// are the executor's to check.
package check
