package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"countersign/internal/limit"
	"countersign/models"
	"countersign/seal/appearance"
	"countersign/seal/rejection"
	"countersign/store"
	"countersign/store/blob"
)

// pageFiles renders pages to images and text, stores these files, and sends them.
type pageFiles struct {
	subject[pageStore]

	renderer      PageRenderer
	readingCopies *limit.Limit       // limits concurrent reading copies
	renders       singleflight.Group // keyed by the file's storage key
	prerender     sync.Mutex         // held while a page that has not been requested is rendered
}

type pageStore interface {
	AddPageFile(ctx context.Context, p store.PageFile) (*store.PageFile, error)
	PageFile(ctx context.Context, blobKey string, profile, page, level int) (*store.PageFile, error)
	RemovePageFiles(ctx context.Context, blobKeys ...string) error
	ReplacePageFile(ctx context.Context, p store.PageFile) error
	Unreferenced(ctx context.Context, keys ...string) ([]string, error)
	Value(ctx context.Context, e *models.Envelope, field uuid.UUID) (*models.FieldValue, error)
	ValuesWithoutPictures(ctx context.Context, e *models.Envelope) ([]models.FieldValue, error)
}

// pageRequest identifies a requested page in a document.
type pageRequest struct {
	envelope *models.Envelope
	document *models.Document // the file presented to recipients
	profile  int
	page     int
	level    int // models.TextLevel selects the page's text
}

func newPageRequest(c *gin.Context, e *models.Envelope, d *models.Document, level int) (pageRequest, error) {
	page, err := strconv.Atoi(c.Param("page"))
	if err != nil || page < 1 || page > d.PageCount {
		return pageRequest{}, models.ErrNotFound
	}
	return pageRequest{e, d.Presented(), cmp.Or(e.AppearanceProfile, models.AppearanceProfile), page, level}, nil
}

// pixels returns an upper bound on the number of pixels in a page image, or the equivalent cost of extracting the
// page's text.
func (r *pageRequest) pixels() int {
	if r.level == models.TextLevel {
		return appearance.MaxPixels / 4
	}
	width, height, _ := r.document.PageSize(r.page)
	if w, h, err := appearance.Level(r.level).Pixels(width, height); err == nil {
		return w * h
	}
	return appearance.MaxPixels
}

// send sends a page. If the page is not stored yet, send first renders it. If delivered is not nil, send calls it
// before it sends the page.
func (s *pageFiles) send(c *gin.Context, r pageRequest, delivered func() error) error {
	if r.document.PurgeStatus == models.PurgePurged {
		return models.ErrPurged
	}
	p, content, err := s.pageFile(c.Request.Context(), r)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // opened only for reading
	if delivered != nil {
		if err := delivered(); err != nil {
			return err
		}
	}
	h := c.Writer.Header()
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("X-Appearance-SHA256", p.Appearance)
	h.Set("X-Appearance-Profile", strconv.Itoa(p.Profile))
	return s.serveContent(c, p.MediaType, "", p.SHA256, time.Time{}, content)
}

// sendLines sends the lines on a page. The lines are determined for each request and are not stored.
func (s *pageFiles) sendLines(c *gin.Context, r pageRequest) error {
	ctx, cancel := context.WithTimeout(c.Request.Context(), pageLimit)
	defer cancel()
	release, err := s.acquireWorkMemory(ctx, appearance.Memory(appearance.MaxPixels/4))
	if err != nil {
		return err
	}
	defer release()
	f, err := s.openFile(ctx, r.envelope, r.document)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	lines, err := s.renderer.Lines(ctx, f, f.Size(), r.page)
	if err != nil {
		return pageError(r, err)
	}
	c.Header("Cache-Control", "private, max-age=31536000, immutable")
	c.JSON(http.StatusOK, lines)
	return nil
}

// renderFirstPage renders the first page of an envelope in the background, before the scripts of the signing page
// request it. It handles one envelope at a time, and ignores requests for other envelopes while it is busy. It reports
// no errors, because the later request for the page reports them.
func (s *pageFiles) renderFirstPage(ctx context.Context, e *models.Envelope) {
	originals := e.Originals()
	if len(originals) == 0 || !s.prerender.TryLock() {
		return
	}
	go func() {
		defer s.prerender.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageLimit)
		defer cancel()
		for _, level := range []int{2, 1, models.TextLevel} { // level 2 first: the signing page requests level 1 only on a slow network, so that request arrives later
			r := pageRequest{e, originals[0].Presented(), cmp.Or(e.AppearanceProfile, models.AppearanceProfile), 1, level}
			if p, err := s.store.PageFile(ctx, r.document.BlobKey, r.profile, r.page, level); p != nil || err != nil {
				continue
			}
			_, _ = s.makePage(ctx, r)
		}
	}()
}

// pageFile returns the record of a stored page and its content, which must match the record. It renders the page if it
// is not stored.
func (s *pageFiles) pageFile(ctx context.Context, r pageRequest) (*store.PageFile, *blob.Content, error) {
	p, err := s.store.PageFile(ctx, r.document.BlobKey, r.profile, r.page, r.level)
	if err != nil {
		return nil, nil, err
	}
	if p != nil {
		content, err := s.files.Open(ctx, p.Record())
		switch {
		case err == nil:
			return p, content, nil
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrModified) || errors.Is(err, blob.ErrDamaged):
			s.log.WarnContext(ctx, "rendering page again: the stored file does not match its record", "envelope", r.envelope.ID, "key", p.Key(), "error", err)
		default:
			return nil, nil, s.fileStoreError(ctx, r.envelope.ID, err)
		}
	}
	made, err := s.makePage(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	content, err := s.files.Open(ctx, made.Record())
	if err != nil {
		return nil, nil, s.fileStoreError(ctx, r.envelope.ID, err)
	}
	return made, content, nil
}

// makePage renders and stores a page. Concurrent requests for the same page share one rendering process.
func (s *pageFiles) makePage(ctx context.Context, r pageRequest) (*store.PageFile, error) {
	wanted := store.PageFile{BlobKey: r.document.BlobKey, Profile: r.profile, Page: r.page, Level: r.level}
	made := s.renders.DoChan(wanted.Key(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageLimit) // other requests may wait for the same rendering
		defer cancel()
		return s.renderPage(ctx, r, wanted)
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-made:
		p, _ := result.Val.(*store.PageFile)
		return p, result.Err
	}
}

func (s *pageFiles) renderPage(ctx context.Context, r pageRequest, p store.PageFile) (*store.PageFile, error) {
	if r.profile != appearance.Current().Number {
		return nil, errOtherProfile
	}
	release, err := s.acquireWorkMemory(ctx, appearance.Memory(r.pixels()))
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := s.openFile(ctx, r.envelope, r.document)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	var content []byte
	if r.level == models.TextLevel {
		content, err = s.pageText(ctx, f, &p)
	} else {
		content, err = s.pagePicture(ctx, f, &p)
	}
	if err != nil {
		return nil, pageError(r, err)
	}
	return s.storePage(ctx, r, p, content)
}

func (s *pageFiles) pagePicture(ctx context.Context, f *blob.Content, p *store.PageFile) ([]byte, error) {
	picture, err := s.renderer.Page(ctx, f, f.Size(), p.Page, appearance.Level(p.Level))
	if err != nil {
		return nil, err
	}
	p.Appearance, p.MediaType, p.Width, p.Height = hex.EncodeToString(picture.Hash), picture.MediaType, picture.PixelWidth, picture.PixelHeight
	return picture.Content, nil
}

func (s *pageFiles) pageText(ctx context.Context, f *blob.Content, p *store.PageFile) ([]byte, error) {
	text, err := s.renderer.Text(ctx, f, f.Size(), p.Page)
	if err != nil {
		return nil, err
	}
	content, sum, err := text.Encode()
	p.Appearance, p.MediaType = hex.EncodeToString(sum[:]), "application/json; charset=utf-8"
	return content, err
}

// pageError returns the client error for a page that could not be rendered.
func pageError(r pageRequest, err error) error {
	if rejected, ok := errors.AsType[*rejection.Error](err); ok {
		return models.Reject(models.KindUnprocessable, rejected.Code, "%s", rejected.Message)
	}
	if errors.Is(err, appearance.ErrNoPage) {
		return models.ErrNotFound
	}
	return fmt.Errorf("render page %d of document %s, level %d: %w", r.page, r.document.ID, r.level, err)
}

// storePage stores the file of a page and its record. It returns an error if the appearance differs from the recorded
// one.
func (s *pageFiles) storePage(ctx context.Context, r pageRequest, p store.PageFile, content []byte) (*store.PageFile, error) {
	sum := sha256.Sum256(content)
	p.SHA256, p.Encrypted = hex.EncodeToString(sum[:]), blob.Encrypts(s.blobs)
	temp, err := s.blobs.Temp()
	if err != nil {
		return nil, s.fileStoreError(ctx, r.envelope.ID, err)
	}
	defer blob.Discard(temp)
	if _, err = io.Copy(temp, bytes.NewReader(content)); err == nil {
		err = s.blobs.Put(ctx, temp, p.Key())
	}
	if err != nil {
		return nil, s.fileStoreError(ctx, r.envelope.ID, err)
	}
	recorded, err := s.store.AddPageFile(ctx, p)
	if err != nil {
		return nil, err
	}
	if removed, err := s.removeStray(ctx, p.BlobKey); err != nil {
		return nil, err
	} else if removed || recorded == nil {
		return nil, models.ErrPurged
	}
	if recorded.Appearance != p.Appearance {
		s.log.ErrorContext(ctx, "the appearance of a page differs from its record", "envelope", r.envelope.ID, "document", r.document.ID, "page", r.page, "level", r.level)
		return nil, models.Reject(models.KindUnavailable, "appearance_changed", "The page cannot be displayed because its appearance has changed. The operator has been notified.")
	}
	if recorded.SHA256 != p.SHA256 || recorded.Encrypted != p.Encrypted { // the same pixels, encoded by another version
		return &p, s.store.ReplacePageFile(ctx, p)
	}
	return recorded, nil
}

// removeStray deletes the stored pages of a file that was deleted while a page was being rendered. It reports whether
// it deleted any. When a file is deleted, the last reference to it is removed before its pages. A page that is stored
// concurrently is therefore found either by that deletion or by this function.
func (s *pageFiles) removeStray(ctx context.Context, key string) (bool, error) {
	gone, err := s.store.Unreferenced(ctx, key)
	if err != nil || len(gone) == 0 {
		return false, err
	}
	if err := blob.DeleteWithPages(ctx, s.blobs, key); err != nil {
		return false, err
	}
	return true, s.store.RemovePageFiles(ctx, key)
}

// documentInPath returns the original or sealed document whose ID is in the path.
func documentInPath(c *gin.Context, e *models.Envelope, parameter string) (*models.Document, error) {
	id, err := pathID(c, parameter)
	if err != nil {
		return nil, err
	}
	if d := e.Document(id); d != nil {
		return d, nil
	}
	return nil, models.ErrNotFound
}

// originalOf returns the original whose ID is in the path.
func originalOf(c *gin.Context, e *models.Envelope, parameter string) (*models.Document, error) {
	id, err := pathID(c, parameter)
	if err != nil {
		return nil, err
	}
	d := e.Document(id)
	if d == nil || d.Kind != models.DocumentOriginal {
		return nil, models.ErrNotFound
	}
	return d, nil
}
