// Package naive runs openCypher clause by clause, straight from the definition, on a graph of plain Go values; tests alone
// import it.
//
// Of what it judges it shares the parser's tree and nothing else: it has its own values, functions, order and equality.
// It knows the part of the language that the differential fuzzer writes; anything else is ErrUnknown.
package naive
