// Package expr compiles expressions to evaluators, which compute a column at a time.
package expr
