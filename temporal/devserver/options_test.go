package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()

	t.Run("defaults", func(t *testing.T) {
		t.Parallel()
		o, err := parseOptions(nil, io.Discard)
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1", o.ip.String())
		require.Equal(t, 7233, o.port)
		require.Equal(t, 8233, o.uiPort)
		require.Equal(t, []string{"default"}, o.namespaces)
		require.Equal(t, countersignAttributes(), o.searchAttributes)
	})

	t.Run("repeated flags", func(t *testing.T) {
		t.Parallel()
		o, err := parseOptions([]string{
			"--port=0", "--namespace", "a", "--namespace", "b", "--namespace", "a",
			"--search-attribute", "Pages=Int", "--search-attribute", "AppId=Keyword",
			"--dynamic-config-value", "x.int=7", "--dynamic-config-value", `x.list=[{"value":1.5}]`,
		}, io.Discard)
		require.NoError(t, err)
		require.Zero(t, o.uiPort, "a free port, like the frontend's")
		require.Equal(t, []string{"a", "b"}, o.namespaces)
		require.Equal(t, enums.INDEXED_VALUE_TYPE_INT, o.searchAttributes["Pages"])
		require.Equal(t, map[string]any{"x.int": 7, "x.list": []any{map[string]any{"value": 1.5}}}, o.dynamicConfig)
	})

	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"port out of range":    {[]string{"--port", "70000"}, "--port 70000 is not a port"},
		"UI port out of range": {[]string{"--port", "65000"}, "--ui-port 66000 is not a port"},
		"same port twice":      {[]string{"--port", "7000", "--ui-port", "7000"}, "both 7000"},
		"attribute form":       {[]string{"--search-attribute", "Pages"}, "expected Name=Type"},
		"attribute type":       {[]string{"--search-attribute", "Pages=Number"}, "unknown type"},
		"attribute conflict":   {[]string{"--search-attribute", "AppId=Int"}, "already of type Keyword"},
		"dynamic form":         {[]string{"--dynamic-config-value", "x"}, "expected key=JSON"},
		"dynamic value":        {[]string{"--dynamic-config-value", "x={"}, "not JSON"},
		"pragma":               {[]string{"--sqlite-pragma", "foreign_keys=1"}, "expected journal_mode"},
		"log level":            {[]string{"--log-level", "loud"}, "--log-level"},
		"log format":           {[]string{"--log-format", "xml"}, "--log-format"},
		"two stores":           {[]string{"--postgres", "postgres://h/d", "--db-filename", "f"}, "cannot be combined"},
		"empty namespace":      {[]string{"--namespace", ""}, "empty name"},
		"rest":                 {[]string{"more"}, `unexpected argument "more"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseOptions(tc.args, io.Discard)
			require.ErrorContains(t, err, tc.says)
		})
	}
}
