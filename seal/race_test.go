//go:build race

package seal_test

// raceDetector says that memory is not what it would be.
const raceDetector = true
