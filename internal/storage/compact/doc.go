// Package compact merges delta records into the packed records that they change. It reads a view and fills a batch; the shard applies the
// batch.
//
//	delta edges, groups ─┐                       ┌─► segments of edge lists
//	delta properties ────┤ Compactor ─► batch ───┼─► column chunks
//	delta memberships ───┘                       ├─► label bitmaps
//	                                             └─► deletion of the delta records, marks of large values
//
// What can be read stays the same, so readers of older snapshots and caches do not notice, and the batch needs no sync.
//
// Edge lists come in three orders of urgency. Chunks of 65,536 lists with groups are compacted as a whole, since a group holds runs of many
// lists of its chunk: each list is then written once for all of them. Next come chunks with many other delta edges, as after a load,
// in the order of their lists, so that the result enters as tables. The other lists come one by one.
//
// A list much longer than its changes is rewritten only where they fall: compactSegments replaces the segments that hold a changed edge and
// corrects the total in the first one.
//
// Delta records are deleted by range, since readers walk over single tombstones. For the same reason the next compaction of a keyspace
// starts where the last one stopped; see Positions.
package compact
