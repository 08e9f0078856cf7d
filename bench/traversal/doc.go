// Package traversal measures multi-hop queries against bare arrays.
package traversal
