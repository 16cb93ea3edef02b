//go:build !linux

package seal

import "os"

// allocate leaves it to the file system to make room.
func allocate(*os.File, int64) error { return nil }
