package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

// listPosition is a position in a list. It consists of the values of the sort columns in the last item of the previous
// page.
type listPosition struct {
	ID     uuid.UUID
	Number int64 // a time in microseconds, or a position; 0 in lists sorted only by ID
}

// cursorQuery reads the cursor after which a page of a list begins. It returns the zero value for the first page. A
// list is identified by its app and by the filters that affect the cursor.
func cursorQuery(c *gin.Context, p models.Problems, app caller, list string) listPosition {
	cursor, present := c.GetQuery("cursor")
	if !present {
		return listPosition{}
	}
	at, ok := readCursor(cursor, app, list)
	if !ok {
		p.Add("cursor", "must be the nextCursor of a page of this list")
	}
	return at
}

// A cursor contains the position and a checksum over the position, the app and the list. The checksum detects altered
// cursors and cursors from other lists. It needs no key, because a cursor can select only items that the caller may
// list anyway.
const (
	placeSize    = 16 + 8
	checksumSize = 6 // makes the length of a cursor a multiple of three bytes, so that its base64 form has no spare bits
)

func cursorOf(at listPosition, app caller, list string) string {
	place := binary.BigEndian.AppendUint64(at.ID[:], uint64(at.Number)) //nolint:gosec // the reverse conversion restores the value
	return base64.RawURLEncoding.EncodeToString(append(place, cursorChecksum(place, app, list)...))
}

func readCursor(cursor string, app caller, list string) (listPosition, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != placeSize+checksumSize || string(raw[placeSize:]) != string(cursorChecksum(raw[:placeSize], app, list)) {
		return listPosition{}, false
	}
	return listPosition{ID: uuid.UUID(raw[:16]), Number: int64(binary.BigEndian.Uint64(raw[16:]))}, true //nolint:gosec // the value was converted from int64
}

func cursorChecksum(place []byte, app caller, list string) []byte {
	sum := sha256.Sum256(append(append(app.ID[:], list...), place...))
	return sum[:checksumSize]
}

// cutPage returns one page of a list, and the cursor of the next page, or nil for the last page. The list's query must
// request one row more than the page size, so that len(rows) exceeds size if another page follows.
func cutPage[T any](rows []T, size int, app caller, list string, place func(T) listPosition) (_ []T, next *string) {
	if len(rows) <= size {
		return rows, nil
	}
	return rows[:size], new(cursorOf(place(rows[size-1]), app, list))
}

// respondCursorList responds with one page of a list that supports only cursors.
func respondCursorList[V any](c *gin.Context, data []V, next *string) error {
	return respond(c, http.StatusOK, gin.H{"data": data, "nextCursor": next})
}

// respondPage responds with one page of a list that supports both page numbers and cursors.
func respondPage[V any](c *gin.Context, data []V, total int64, number, size int, next *string) error {
	return respond(c, http.StatusOK, gin.H{"data": data, "total": total, "page": number, "pageSize": size, "nextCursor": next})
}

// pageQuery reads the page number and the page size of a list that supports both page numbers and cursors.
func pageQuery(c *gin.Context, p models.Problems) (number, size int) {
	if _, present := c.GetQuery("cursor"); present {
		if _, present := c.GetQuery("page"); present {
			p.Add("cursor", "cannot be combined with page")
		}
	}
	return query(c, p, "page", 1, 1_000_000), sizeQuery(c, p)
}

func sizeQuery(c *gin.Context, p models.Problems) int { return query(c, p, "pageSize", 20, 100) }
