// Package backup writes backups of data directories to a directory or an object store, and restores them.
//
// A repository holds
//
//	files/SHA256        the content of a file, under its checksum
//	backups/ID.json     the manifest of a backup: its files' names, sizes and checksums
//	log/GRAPH/BRANCH/AFTER-LAST-TIME.seg
//	                    commits of a graph, by its id, that were shipped between backups; .gap where they are lost
//	log/GRAPH/shipped.json
//	                    how far that has come
//
// Files of equal content are stored once, so a backup copies only what has changed since the previous one. The manifest is written last;
// files without one belong to an incomplete backup.
//
// A Shipper writes segments and Log.Read reads them. They never change, so a shipper that has died goes on where they end.
package backup
