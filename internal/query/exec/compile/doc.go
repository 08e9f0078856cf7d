// Package compile turns plan nodes into stages; the packages of operators say how, node by node.
package compile
