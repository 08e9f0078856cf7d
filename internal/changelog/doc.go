// Package changelog encodes what commits change, and decodes it again.
//
// A graph keeps its last commits in a log, each under its number. The changes of a commit to one shard are a record there, written in the
// same batch as they are:
//
//	record   version, time of the commit, transactions, blocks
//	part     version, blocks                                     the rest of a long record
//	block    shape, n, columns                                   changes that are alike, in their order
//	schema   bytes                                               in place of a block: a change of indexes or definitions, see Commit.Schema
//	shape    operation, transaction, labels or type, which properties
//	column   ids as differences, label sets as differences, values as the cells of package keys
//
// So a commit of one change takes some 30 bytes more than its values, and a batch of a load takes columns, or no values at all: see Range. All
// names are numbers of the graph's catalog, which forgets none.
//
//	writer   Encoder.Add, AddRows ... Records → storage
//	reader   storage → Commit.Each → changes, in the order of their shard
//
// An element that a transaction changes twice is there twice; Merger makes one change of both.
package changelog
