// Package graphdb reads graphs out of running databases over Bolt: Neo4j, Memgraph, Hopgate.
//
//	ids of a page, in order ── a window of them ─► its vertices, or the edges that leave them ─► JSON lines ─► loader
//
// A page asks the database for the next ids alone, which it sorts; a window looks up the vertices of some of them. Edges are read by their
// sources, since not every database finds an edge by its id. So all reads are in the order of ids, and a load that stopped goes on behind the
// last id that it has loaded. The database must not be written to meanwhile: there is no snapshot over several statements.
package graphdb
