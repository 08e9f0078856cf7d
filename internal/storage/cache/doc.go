// Package cache keeps decoded neighbour lists and property columns of one shard off the Go heap, within a budget of
// bytes, so that snapshot readers and the writer never wait for each other.
//
// # Blocks
//
// Consecutive local ids form blocks: ListBlock vertices for the lists of one edge type and direction, ColumnBlock
// vertices for the values of one property. A block that is decoded is a segment: plain arrays outside of the Go heap.
//
//	offsets  0   2   2   5  …           one a vertex, and the end
//	targets  17  90  3   4   17  …      the far ends, 32 bits each: shard above, local id below
//	edges    5   6   21  8   22  …      the edges' local ids, if asked for
//
// # Versions
//
// Commits are numbered by sequences. A segment's arrays hold the state after some commit, and the changes that were
// committed since stand in an overlay: a chain of entries for each changed vertex, newest first, each with its
// sequence. A reader at sequence R uses the arrays if they are not newer than R, and for a vertex that has a chain it
// merges the entries up to R. A writer calls Apply before its sequence becomes visible to new readers; so a reader that
// reads at R finds all entries up to R.
//
// A block without a segment is loaded by the reader that misses it, from its own snapshot, if nothing newer than the
// snapshot has changed the block; what is committed during the load is queued and becomes the new segment's overlay.
//
// # Keys
//
// Beside the segments stand the keys of unique indexes with the vertices that own them, in sets of eight slots within a
// sixteenth of the budget. A look-up adds what its snapshot shows, with the snapshot's sequence, unless a key under the
// same lock has been deleted since; a commit that deletes a key drops it before readers can see the commit. So what is
// there holds for every reader from its sequence on.
//
// # Vectors
//
// A property that is compared with vectors has segments of its own: the lists of a block as packed 32-bit floats, beside their lengths. Their
// overlays say which vertices have changed, and readers find those elsewhere; after a few dozen, a reader decodes the block again. A slot
// of vectors without a request so far notes no changes; the slot of the property's column does, so a load begins from its sequence.
//
// # Graphs
//
// A VectorGraph is an HNSW graph of a property's vectors with its own copy of them. Its rows show the state of one sequence, and a log says which
// vertices have changed before and after; a reader of another sequence compares those in between itself. A row of an edge belongs to the vertex
// that the edge leaves, which has changed when any of them has. A writer adds rows beside readers and then moves the sequence at once. When a piece of its memory is evicted, the whole graph goes.
//
// # Memory
//
// Segments that are evicted, replaced or invalidated are freed when the last view has closed that was open at that
// moment, so slices and strings that a view hands out are valid until it closes.
package cache
