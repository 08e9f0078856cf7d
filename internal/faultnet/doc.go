// Package faultnet relays TCP between the processes of a test and holds up what a partitioned or slow network would.
package faultnet
