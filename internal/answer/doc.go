// Package answer reads the values of a server's answers, and writes them as JSON and as openCypher.
package answer
