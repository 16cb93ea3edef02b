//go:build !race

package seal_test

// raceDetector tells that memory is not what it would be.
const raceDetector = false
