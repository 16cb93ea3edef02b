package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// otel is the prefix of the modules that are pinned to their own versions. Temporal uses the type KeyValue in
// go.opentelemetry.io/otel/log. That type is missing from v0.21.0, which newer OpenTelemetry modules require.
const otel = "go.opentelemetry.io/otel"

// TestModules_MatchCountersign checks that both programs use the same versions of the modules they share, so that those
// modules are compiled only once. After an upgrade in one go.mod, upgrade the other as well.
func TestModules_MatchCountersign(t *testing.T) {
	t.Parallel()
	server, service := modules(t, "."), modules(t, "../../cmd/countersign")
	require.Contains(t, server, "modernc.org/sqlite")
	require.NotEqual(t, service[otel], server[otel], "the exception is no longer needed")

	for module, version := range server {
		if module == otel || strings.HasPrefix(module, otel+"/") {
			continue
		}
		if other := service[module]; other != "" && other != version {
			t.Errorf("%s is %s in temporal/devserver/go.mod and %s in go.mod", module, version, other)
		}
	}
}

// modules returns the versions of the modules that are compiled into the program in a folder, except replaced modules.
func modules(t *testing.T, folder string) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "-C", folder, "list", "-deps",
		"-f", "{{with .Module}}{{if not .Replace}}{{.Path}} {{.Version}}{{end}}{{end}}", ".").Output()
	require.NoError(t, err)
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if module, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			versions[module] = version
		}
	}
	return versions
}
