// Package search keeps the full-text indexes of a graph and answers queries in Lucene's syntax.
package search
