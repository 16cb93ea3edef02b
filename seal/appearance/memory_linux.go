package appearance

import "golang.org/x/sys/unix"

// useHugePages requests huge pages for an instance's memory. For a page of text, this reduces the page faults from 2,600
// to about 100, and the CPU time by 5 ms. If the kernel has no huge pages, there is no effect.
func useHugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
