// Package changes has graphctl's command that follows the changes of a graph.
//
//	GraphService.Changes ─ Stream.Next ─ events ─ stdout ─ then the token ─ state file
//
// A stream survives a server that goes away: it continues at another one, or later, from its last token. The state file gets a token only once
// what came before it has been written, so that a run that ends in the middle repeats events and loses none.
package changes
