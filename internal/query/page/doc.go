// Package page cuts the answer to a request into pages, each a request of its own that any process can answer.
//
//	first page     ORDER BY k, id   ─►  rows 1 … n, and one more to know whether there is another page
//	               token            ◄─  commit, hash of the request, rows left of LIMIT, (k, id) of row n, signed by the graph
//	next page      the same request, with the token: as of the commit, the rows behind (k, id)
//
// Nothing is kept between pages: no cursor, no transaction, no session. The snapshot is that of the first page, which the commit log leads back
// to (package past). The plan of a later page differs from that of the first one in the conditions that the token sets; where an index has the
// order, it is read from the last row on, else the first n rows behind that are found by one pass over all.
//
// An order that leaves two rows equal could lose one of them between pages, so the keys of ORDER BY must tell all rows apart; package page finds
// that out from the plan and from constraints of the graph. A fetch gets the ids of its vertices and edges as last keys.
//
// The form of the token follows Google's AIP-158.
package page
