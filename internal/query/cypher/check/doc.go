// Package check applies openCypher's compile-time rules to a syntax tree.
//
// In a tree that passes, variables are defined where they are used and have one kind, aggregates occur only where groups are formed,
// functions and procedures exist, and no operand has a type that the text shows to be wrong. The executor checks values that are
// known only at run time.
package check
