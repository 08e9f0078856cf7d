// Package parse parses the text of an openCypher statement into a syntax tree.
package parse
