package main

import (
	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes to standard error, with stack traces only at level debug. After silence only
// fatal messages are written.
func newLogger(level, format string) (logger log.Logger, silence func()) {
	if level == "never" {
		return log.NewNoopLogger(), func() {}
	}
	if format != "json" {
		format = "console"
	}
	base := log.BuildZapLogger(log.Config{Level: level, Format: format})
	current := zap.NewAtomicLevelAt(log.ParseZapLevel(level))
	zl := base.WithOptions(zap.IncreaseLevel(current))
	if level != "debug" {
		zl = zl.WithOptions(zap.AddStacktrace(zap.LevelEnablerFunc(func(zapcore.Level) bool { return false })))
	}
	return log.NewZapLogger(zl), func() { current.SetLevel(zap.FatalLevel) }
}
