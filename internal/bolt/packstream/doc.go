// Package packstream encodes and decodes PackStream, the form that Bolt gives to values.
package packstream
