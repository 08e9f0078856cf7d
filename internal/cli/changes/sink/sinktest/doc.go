// Package sinktest has brokers for tests of sinks, and reads what is in them.
//
//	Kafka   a fake of Kafka in this process
//	JVM     Kafka itself, in a process of Java, if HOPGATE_KAFKA names a folder with its jars
//	NATS    a server of NATS in this process
package sinktest
