// Package packstream encodes and decodes PackStream, Bolt's encoding of values.
package packstream
