// Package mapping maps records to vertices and edges: it reads mapping files and neo4j-admin headers, and converts cells to values.
package mapping
