//go:build !linux

package appearance

func useHugePages([]byte) {}
