// Package shell splits what users write for the client into statements and the shell's own commands.
package shell
