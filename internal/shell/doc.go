// Package shell splits the client's input into statements and shell commands.
package shell
