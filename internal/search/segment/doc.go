// Package segment keeps immutable segments of an inverted index: documents, the terms of their fields, and the positions of these.
//
// # A document
//
// A document has an ID, a checksum of 32 bits, and fields. A field has texts, each a sequence of terms at positions, and a length, the number of
// its terms. Documents are numbered in the order of their IDs.
//
// # The format
//
//	IDs         keys, in blocks
//	checksums   4 bytes a document
//	by field:   lengths (1, 2 or 4 bytes a document), postings of all terms, terms (keys, in blocks)
//	directory   number of documents, places of all sections, names of fields
//	trailer     24 bytes: place of the directory (8), bytes of the directory (4), CRC-32C of all before (4), magic with version (8)
//
// Integers of fixed size are little-endian, others are unsigned varints.
//
// A block has 16 keys in ascending order. The first is whole; each other is the number of bytes that it shares with the one before, and the
// rest. After the keys of a section follows the place of each block, in 4 bytes. A key that is a term is followed by the number of its
// documents, the bytes of its documents, and the bytes of its positions; its block begins with the place of its first term's postings.
//
// The postings of a term are its documents and then its positions. Up to 127 documents, and what is left over from blocks of 128, are
// varints: twice the distance from the document before, less one, and plus one if the term occurs there more than once; then how often,
// less two. If there are whole blocks, a table precedes them: for each block its last document, and where its documents and its positions
// end, 4 bytes each, its greatest frequency, and the least length of the field in its documents, 2 bytes each and at most 65,535: a bound
// of scores (Ding and Suel, Faster top-k document retrieval using block-max indexes, 2011). A block is the bits of a distance, the bits of a frequency (a byte each), then 128 distances and 128
// frequencies, less one, of as many bits: frame of reference, as Lemire and Boytsov describe it (Decoding billions of integers per
// second through vectorization, 2015), but without lanes.
//
// The positions of a document are varints: twice the distance from the position before, or, at the first term of another text, twice the
// number of texts since the last one, plus one, followed by twice the position. They start from text 0, position 0.
package segment
