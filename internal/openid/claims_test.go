package openid

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLookUp checks that the name of a claim may contain dots, as in a URL, although dots also separate the elements
// of a path.
func TestLookUp(t *testing.T) {
	t.Parallel()
	c := claims{
		"role": "admin", "https://sign.example.com/roles": []any{"viewer"}, "realm_access": map[string]any{"roles": []any{"sender"}}, "a.b": "flat",
		"a": map[string]any{"b": "deep"}, "list": []any{map[string]any{"x": "y"}},
	}
	for name, want := range map[string]any{
		"role": "admin", "https://sign.example.com/roles": []any{"viewer"}, "realm_access.roles": []any{"sender"}, "a.b": "flat",
		"none": nil, "role.admin": nil, "realm_access.none": nil, "realm_access.roles.0": nil, "list.0.x": nil, "": nil, ".": nil,
	} {
		require.Equal(t, want, lookUp(c, name), name)
	}
}

// TestErrorWord checks that a provider's error code is logged only if it is a single word.
func TestErrorWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"invalid_grant": "invalid_grant", "": "", "ada@example.com": "", "Invalid": "", "a\nb": "", "x x": "", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz": "",
	} {
		require.Equal(t, want, errorWord(text), text)
	}
}
