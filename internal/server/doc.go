// Package server opens the listeners of transports and of administrators, has each transport answer, and drains them on shutdown.
package server
