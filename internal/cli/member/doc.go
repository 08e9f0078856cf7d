// Package member has the commands that show and change the processes and replicas of a cluster.
package member
