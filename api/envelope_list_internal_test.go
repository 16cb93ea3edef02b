package api

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

// TestCursors: a cursor is good for the order that it was made for.
func TestCursors(t *testing.T) {
	t.Parallel()
	e := &models.Envelope{ID: uuid.New(), CreatedAt: time.Date(2026, 11, 20, 7, 0, 0, 456000, time.UTC), UpdatedAt: time.Date(2026, 11, 21, 7, 0, 0, 123000, time.UTC)}
	kinds := map[cursorKind]store.ListPlace{cursorByID: {ID: e.ID}, cursorByUpdate: {ID: e.ID, At: e.UpdatedAt}, cursorByCreation: {ID: e.ID, At: e.CreatedAt}}
	for kind, want := range kinds {
		for other := range kinds {
			at, ok := readCursor(cursorAfter(e, kind), other)
			require.Equal(t, kind == other, ok, "%q as %q", kind, other)
			if ok {
				require.Equal(t, want, *at)
			}
		}
		for _, bad := range []string{"", "!", "eA", "eC8x", "eEAx"} {
			_, ok := readCursor(bad, kind)
			require.False(t, ok, bad)
		}
		if kind == cursorByID {
			continue
		}
		for micro, want := range map[int64]bool{-1: false, 0: true} {
			at := time.UnixMicro(micro)
			_, ok := readCursor(cursorAfter(&models.Envelope{ID: e.ID, CreatedAt: at, UpdatedAt: at}, kind), kind)
			require.Equal(t, want, ok)
		}
	}

	for text, ok := range map[string]bool{
		e.ID.String(): true, "": false, uuid.Nil.String(): false, "{" + e.ID.String() + "}": false, strings.ReplaceAll(e.ID.String(), "-", ""): false, "x": false,
	} {
		p := models.Problems{}
		eventID(p, "cursor", text)
		require.Equal(t, ok, len(p) == 0, "%q", text)
	}
}
