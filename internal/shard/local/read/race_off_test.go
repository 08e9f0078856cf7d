//go:build !race

package read_test

const raceDetector = false
