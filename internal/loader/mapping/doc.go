// Package mapping says what becomes of the records of files: it reads mapping files and neo4j-admin headers, and turns cells
// into values.
package mapping
