// Package failpoint lets the fault tests end or hold up the program at chosen
// places, and move its clock. All of that is only in programs that were built
// with the tag "failpoints"; in any other its functions do nothing and cost
// nothing.
package failpoint

// Variable names the environment variable with the directory that faults are read from: a file
// named for a place holds what is to happen there.
//
//	kill         the program ends as by kill -9, and the file is removed before
//	sleep 250ms  it waits
//	hang         it waits until the file is removed
//	error text   Err returns an error
//	full         Err returns "no space left on device"
//
// The file "clock" holds how far the clock is off, such as -1h.
const Variable = "COUNTERSIGN_TEST_FAILPOINTS"
