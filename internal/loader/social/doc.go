// Package social writes a deterministic LDBC-like social network of any size as CSV with neo4j-admin headers.
package social
