// Package backup keeps copies of data directories in a directory or an object store, and puts them back.
//
// A repository holds
//
//	files/SHA256        the content of a file, under its checksum
//	backups/ID.json     the manifest of a backup: its files' names, sizes and checksums
//
// Files of equal content are kept once, so that a backup takes what has changed since the one before. A manifest is
// written when all of its files are there; files without one are of a backup that was not finished.
package backup
