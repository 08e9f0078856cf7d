// Package request handles requests alike for all transports: it observes them, bounds the memory of large ones and assigns ids.
package request
