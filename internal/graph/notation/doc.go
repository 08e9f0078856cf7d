// Package notation writes values as text: in openCypher's notation, for messages and for people, and as JSON, for clients. It reads the
// text of temporal values.
package notation
