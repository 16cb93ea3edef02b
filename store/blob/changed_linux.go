package blob

import (
	"io/fs"
	"syscall"
)

// changedAt is when the file's content or its entry was changed last.
func changedAt(info fs.FileInfo) (int64, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Ctim.Nano(), true
}
