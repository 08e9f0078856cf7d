// Package codec encodes and decodes the records of a shard: columns, edge lists, groups of delta edges and label bitmaps.
package codec
