// Package keys maps graph records to ordered byte keys and property values to bytes, and back; it does no I/O.
package keys
