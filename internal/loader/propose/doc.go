// Package propose samples files and proposes how to load them.
//
//	files ─ sample (text, dialect, columns, values) ─► sampled
//	              │ one for parts with equal columns and numbered names
//	        types of columns (guess.go), keys (key.go), labels by name
//	              │
//	        vertices, or edges whose ends find the keys of other files
//	              │
//	        columns that refer to vertices, and rows that only relate them (reference.go)
//	              │
//	        a mapping, as YAML with comments (yaml.go)
//
// What it cannot tell, it says in comments of the mapping.
package propose
