//go:build !race

package sealing_test

// raceDetector reports whether the race detector distorts measurements of memory.
const raceDetector = false
