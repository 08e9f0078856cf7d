// Package text opens the texts of a load: it finds files, and reads them as UTF-8 from any offset.
//
//	path, directory, pattern, URL, object, - ─ Files ─► names
//	                                                    │ Source.Open(offset)
//	    file │ URL or object (ranges) │ pipe (once)     │
//	                     │ stored bytes, counted        │
//	              gzip, zstd by their first bytes       │
//	              another encoding, byte order mark     │
//	                     └──────► Text ◄── Parquet and Arrow, as JSON lines
//
// An offset is one of the text, not of the stored bytes: a load that begins again names the place where it continues. Several parts of one
// text follow each other, each from the beginning of a line.
//
// A text that ends early is an error (ErrShort, ErrCutOff), never a shorter text.
package text
