// Package compile turns plan nodes into stages; each package of operators compiles its own nodes.
package compile
