// Package arrowstream writes the rows of an answer as Arrow record batches, and reads Arrow values.
package arrowstream
