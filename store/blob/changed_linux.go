package blob

import (
	"io/fs"
	"syscall"
)

// changedAt returns the time at which the file's content or metadata last changed.
func changedAt(info fs.FileInfo) (int64, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Ctim.Nano(), true
}
