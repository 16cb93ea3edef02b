package api

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/seal/admission"
	"countersign/seal/appearance"
)

// PageRenderer renders pages of PDFs, and repairs PDFs.
type PageRenderer interface {
	admission.Renderer
	// Page renders a page, by its number from 1.
	Page(ctx context.Context, file io.ReaderAt, size int64, page int, level appearance.Level) (*appearance.Encoded, error)
	// Lines reads the lines and images of a page, by its number from 1.
	Lines(ctx context.Context, file io.ReaderAt, size int64, page int) (*appearance.Lines, error)
	// Text reads the text of a page, by its number from 1.
	Text(ctx context.Context, file io.ReaderAt, size int64, page int) (*appearance.Text, error)
}

// pageLimit is the time limit for rendering a page, including the wait for a concurrency limit.
const pageLimit = time.Minute

// pageLevel reads the level of a picture; the default is 2.
func pageLevel(c *gin.Context) (int, error) {
	text, given := c.GetQuery("level")
	if !given {
		return 2, nil
	}
	level, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(level) != text || !appearance.Level(level).Valid() {
		return 0, models.InvalidField("level", "must be 1, 2 or 4")
	}
	return level, nil
}

// readingCopyRequested reads the parameter that requests a document with the values of all signers who have signed.
func readingCopyRequested(c *gin.Context) (bool, error) {
	p := models.Problems{}
	return queryFlag(c, p, "entries"), p.Err()
}

// errOtherProfile is the error for an envelope that was sent under an appearance profile that this program does not
// support.
var errOtherProfile = models.Refuse(models.KindUnavailable, "profile_unavailable", "This version of the service cannot render the pages as they were displayed before. The operator can install a version that can.")
