// Package failpoint lets the fault tests end or hold up the program at chosen
// places, and move its clock. All of that is only in programs that were built
// with the tag "failpoints"; in any other its functions do nothing and cost
// nothing.
package failpoint
