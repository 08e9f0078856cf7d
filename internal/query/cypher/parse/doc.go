// Package parse reads the text of an openCypher statement into a syntax tree.
package parse
