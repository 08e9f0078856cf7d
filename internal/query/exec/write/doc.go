// Package write creates, merges, sets and deletes vertices, edges and properties.
package write
