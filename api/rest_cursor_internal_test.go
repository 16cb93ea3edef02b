package api

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestReadCursor checks that a cursor is valid only if it is unmodified, and only for its own list and app.
func TestReadCursor(t *testing.T) {
	t.Parallel()
	app, other := caller{App: &models.App{ID: uuid.New()}}, caller{App: &models.App{ID: uuid.New()}}
	for _, at := range []listPosition{{ID: uuid.New()}, {ID: uuid.New(), Number: 1_800_000_000_000_001}, {Number: 1}, {ID: uuid.Max, Number: -1}} {
		cursor := cursorOf(at, app, "templates")
		require.Regexp(t, "^[A-Za-z0-9_-]{40}$", cursor)
		got, ok := readCursor(cursor, app, "templates")
		require.True(t, ok)
		require.Equal(t, at, got)
		for _, list := range []string{"", "template", "bulk sends"} {
			_, ok := readCursor(cursor, app, list)
			require.False(t, ok, list)
		}
		_, ok = readCursor(cursor, other, "templates")
		require.False(t, ok)
		for i := range cursor {
			altered := cursor[:i] + string("AB"[strings.IndexByte("A", cursor[i])+1]) + cursor[i+1:]
			_, ok := readCursor(altered, app, "templates")
			require.False(t, ok, altered)
		}
		for _, bad := range []string{"", "!", cursor[:39], cursor[:36], cursor + "AAAA", strings.Repeat("A", 40)} {
			_, ok := readCursor(bad, app, "templates")
			require.False(t, ok, bad)
		}
	}
}
