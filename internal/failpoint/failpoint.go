// Package failpoint allows the fault tests to kill or pause the program at chosen points and to shift its clock. It is
// active only in programs built with the tag "failpoints". In other programs, its functions do nothing.
package failpoint

// Variable is the name of the environment variable that contains the directory of faults. A file in this directory that
// has the name of a failpoint contains the fault to inject there:
//
//	kill         kill the process as kill -9 does, after removing the file
//	sleep 250ms  wait
//	hang         wait until the file is removed
//	error text   InjectError returns an error
//	full         InjectError returns "no space left on device"
//
// The file "clock" contains the offset of the clock, such as -1h.
const Variable = "COUNTERSIGN_TEST_FAILPOINTS"
