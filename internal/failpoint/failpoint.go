// Package failpoint lets the fault tests kill or pause the program at chosen places, and shift its clock. It is active
// only in programs built with the tag "failpoints". In others its functions do nothing and cost nothing.
package failpoint

// Variable names the environment variable with the directory of the faults: a file named after a place holds the fault
// to inject there.
//
//	kill         kill the process as kill -9 does, after removing the file
//	sleep 250ms  wait
//	hang         wait until the file is removed
//	error text   Err returns an error
//	full         Err returns "no space left on device"
//
// The file "clock" holds the offset of the clock, such as -1h.
const Variable = "COUNTERSIGN_TEST_FAILPOINTS"
