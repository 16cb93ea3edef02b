//go:build !linux

package seal

import "os"

// allocate does nothing on this platform. The file system allocates space as data is written.
func allocate(*os.File, int64) error { return nil }
