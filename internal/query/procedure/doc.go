// Package procedure has the procedures that CALL runs and the lists that SHOW gives.
package procedure
