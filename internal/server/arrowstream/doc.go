// Package arrowstream writes the rows of an answer as Arrow record batches.
package arrowstream
