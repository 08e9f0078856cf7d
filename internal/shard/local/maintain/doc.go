// Package maintain does the work of a graph that no transaction waits for: it compacts delta records, deletes what has expired and builds
// indexes. Each job takes the writer's lock for short steps, and shows readers what it has done in a snapshot, as a commit does.
//
// # Compaction
//
// A Compactor runs when there are many delta records, or after a while without a commit:
//
//	commits       ─ +delta ─ +delta ─────────── +delta ───────────
//	Compactor     lock ─ BeginCompaction ─ unlock ─ Run ─ lock ─ End ─ CompactDeltas ─ snapshot ─ unlock
//	                                                └ beside writers
//
// A chunk that a commit has touched meanwhile stays as it is. If there are far too many delta records, writers wait instead.
//
// # Expiry
//
// A snapshot knows a time before which nothing in it expires. A transaction that would begin on one that is overdue has what is due deleted
// first, so no transaction sees what had expired when it began, while one that runs keeps its snapshot. Otherwise Expirer.Run deletes in time:
//
//	index of a TTL, by time:  3  4  7 │ 9  12      now = 8
//	                          └ deleted, some at a time, by an ordinary commit
//
// # Building an index
//
// From its definition on, every transaction maintains the entries of an index. A Build adds those of existing elements:
//
//	snapshot ─ scan some vertices ─ lock ─ read what they are now, put entries and a mark ─ commit ─ next
//
// The mark says where the build goes on after a crash. When all are done, the index goes online: first for readers of new snapshots, then
// for planners. A constraint that does not hold is removed again.
package maintain
