// Package procedure implements the procedures of CALL and the lists of SHOW.
package procedure
