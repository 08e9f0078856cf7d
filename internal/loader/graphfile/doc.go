// Package graphfile reads files that hold whole graphs, as JSON lines that a mapping describes.
//
//	GraphML │ GEXF │ node-link JSON │ APOC's JSON lines
//	            │ Decoder, an element at a time
//	      vertices and edges ── Scan ─► the names of their properties ─► Mapping
//	            │ Lines, those of one kind
//	{":ID": "a", ":LABEL": "X", "name": …}   {":START_ID": "a", ":END_ID": "b", ":TYPE": "T", …}
//
// A file is read once to learn the names, and once each for its vertices and its edges; nothing is held in memory. The edges of an undirected
// graph are stored once, from the end that the file names first. What a format has and a graph has not, such as hyperedges, is an error.
package graphfile
