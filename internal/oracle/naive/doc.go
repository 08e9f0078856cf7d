// Package naive runs openCypher clause by clause, directly from the definition, on a graph of plain Go values; only tests import it.
//
// It shares only the parser's tree with the engine that it judges: it has its own values, functions, order and equality. It supports the
// part of the language that the differential fuzzer generates; anything else is ErrUnknown.
package naive
