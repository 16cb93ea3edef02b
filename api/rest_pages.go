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

// PageRenderer renders, reads and repairs PDFs. Page numbers start at 1.
type PageRenderer interface {
	admission.Renderer
	// Page renders a page as an image.
	Page(ctx context.Context, file io.ReaderAt, size int64, page int, level appearance.Level) (*appearance.Encoded, error)
	// Lines returns the lines and images on a page.
	Lines(ctx context.Context, file io.ReaderAt, size int64, page int) (*appearance.Lines, error)
	// Text returns the text on a page.
	Text(ctx context.Context, file io.ReaderAt, size int64, page int) (*appearance.Text, error)
}

// pageLimit is the time limit for rendering a page, including the time spent waiting for a concurrency limit.
const pageLimit = time.Minute

// pageLevel reads the level of detail of an image from the query string. The default is 2.
func pageLevel(c *gin.Context) (int, error) {
	text, present := c.GetQuery("level")
	if !present {
		return 2, nil
	}
	level, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(level) != text || !appearance.Level(level).Valid() {
		return 0, models.InvalidField("level", "must be 1, 2 or 4")
	}
	return level, nil
}

// readingCopyRequested reads the parameter that requests a document with the values of all signers who have signed so
// far.
func readingCopyRequested(c *gin.Context) (bool, error) {
	p := models.Problems{}
	return queryFlag(c, p, "entries"), p.Err()
}

// errOtherProfile is returned for an envelope that was sent with an appearance profile that this program does not
// support.
var errOtherProfile = models.Reject(models.KindUnavailable, "profile_unavailable", "This version of the service cannot render the pages as they were previously displayed. The operator can install a version that supports them.")
