//go:build !race

package local

const raceDetector = false
