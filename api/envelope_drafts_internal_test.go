package api

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestMergePatch checks the examples in RFC 7396, appendix A.
func TestMergePatch(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for _, c := range []struct{ target, patch, want any }{
		{m{"a": "b"}, m{"a": "c"}, m{"a": "c"}},
		{m{"a": "b"}, m{"b": "c"}, m{"a": "b", "b": "c"}},
		{m{"a": "b"}, m{"a": nil}, m{}},
		{m{"a": "b", "b": "c"}, m{"a": nil}, m{"b": "c"}},
		{m{"a": []any{"b"}}, m{"a": "c"}, m{"a": "c"}},
		{m{"a": m{"b": "c"}}, m{"a": m{"b": "d", "c": nil}}, m{"a": m{"b": "d"}}},
		{[]any{"a"}, m{"a": "b", "c": nil}, m{"a": "b"}},
		{m{"e": nil}, m{"a": 1}, m{"e": nil, "a": 1}},
		{m{}, m{"a": m{"bb": m{"ccc": nil}}}, m{"a": m{"bb": m{}}}},
		{m{"a": "b"}, []any{"c"}, []any{"c"}},
	} {
		require.Equal(t, c.want, mergePatch(c.target, c.patch), "%v", c)
	}
	e := &models.Envelope{Version: 7}
	for header, ok := range map[string]bool{"": true, `"7"`: true, "*": true, `"6"`: false, `"6", "7"`: true, `W/"7"`: false, "7": false} {
		c, _ := request(http.MethodPatch, "/", "", "")
		if header != "" {
			c.Request.Header.Set("If-Match", header)
		}
		err := checkIfMatch(c, e)
		if ok {
			require.NoError(t, err, header)
			continue
		}
		require.Equal(t, "precondition_failed", codeOf(t, err), header)
	}
}
