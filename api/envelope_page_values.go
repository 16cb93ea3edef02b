package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal"
	"countersign/seal/appearance"
)

// maxConcurrentReadingCopies is the maximum number of reading copies that are rendered at the same time.
const maxConcurrentReadingCopies = 4

// readingCopy renders a reading copy, subject to the concurrency limit.
func (s *pageFiles) readingCopy(ctx context.Context, job seal.Reading) (*io.SectionReader, error) {
	done, err := acquire(ctx, s.readingCopies, 1, cmp.Or(s.queueWait, readingCopyWait), "Too many documents are being prepared for reading")
	if err != nil {
		return nil, err
	}
	defer done()
	return seal.ReadingCopy(ctx, job)
}

// newReading returns the job that draws values on an original. The parameter page selects one page, starting at 1, or
// all pages if it is 0. If values contains an image without its content, newReading loads the content. The caller must
// set the file and the version.
func (s *pageFiles) newReading(ctx context.Context, e *models.Envelope, d *models.Document, values []models.FieldValue, page int) (seal.Reading, error) {
	byField := make(map[uuid.UUID]models.FieldValue, len(values))
	for _, v := range values {
		byField[v.FieldID] = v
	}
	shown := d.Presented()
	job := seal.Reading{OriginalSHA256: shown.SHA256, PageCount: d.PageCount, Names: map[string]string{}, Facts: seal.DecodeFacts(d.SealFacts), Page: page}
	for _, g := range e.Signers {
		job.Names[g.ID.String()] = g.Name
	}
	pictures := make(map[string][]byte)
	for _, f := range e.Fields {
		v, ok := byField[f.ID]
		if !ok || f.DocumentID != d.ID || page != 0 && f.Page != page {
			continue
		}
		value := seal.Value{
			FieldID: f.ID.String(), SignerID: f.SignerID.String(), Kind: seal.Kind(f.Type), Page: f.Page, X: f.X, Y: f.Y, W: f.W, H: f.H,
			FontSize: f.Attributes.FontSize, Align: string(f.Attributes.Align), Cells: f.Cells(), Text: v.Text, Checked: f.Checked(v.Text), PNG: v.Image,
		}
		if f.Type.Image() && value.PNG == nil {
			if pictures[v.ImageSHA256] == nil {
				stored, err := s.store.Value(ctx, e, f.ID)
				if err != nil {
					return job, err
				}
				pictures[v.ImageSHA256] = stored.Image
			}
			value.PNG = pictures[v.ImageSHA256]
		}
		job.Values = append(job.Values, value)
	}
	return job, nil
}

// sendWithValues sends an image of a page with the values of all signers who have signed. The image is rendered for
// each request and never stored, because the next signature will change it. If the page has no values, the stored image
// is sent.
func (s *pageFiles) sendWithValues(c *gin.Context, r pageRequest) error {
	ctx := c.Request.Context()
	values, err := s.store.ValuesWithoutPictures(ctx, r.envelope)
	if err != nil {
		return err
	}
	job, err := s.newReading(ctx, r.envelope, r.envelope.Document(r.document.ID), values, r.page)
	if err != nil {
		return err
	}
	if len(job.Values) == 0 {
		return s.send(c, r, nil)
	}
	now, err := r.envelope.Shown()
	if err != nil {
		return err
	}
	job.Version = now.Digest
	picture, err := s.renderReading(ctx, r, job)
	if err != nil {
		return err
	}
	setAppearance(c, r, picture)
	c.Header("Cache-Control", "private, no-cache")
	return s.serveContent(c, picture.MediaType, "", hex.EncodeToString(picture.Hash), time.Time{}, bytes.NewReader(picture.Content))
}

// renderReading renders a page of a reading copy.
func (s *pageFiles) renderReading(ctx context.Context, r pageRequest, job seal.Reading) (*appearance.Encoded, error) {
	if r.profile != appearance.Current().Number {
		return nil, errOtherProfile
	}
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
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
	job.Original, job.Size = f, f.Size()
	copied, err := s.readingCopy(ctx, job)
	if err != nil {
		return nil, pageError(r, err)
	}
	picture, err := s.renderer.Page(ctx, copied, copied.Size(), r.page, appearance.Level(r.level))
	if err != nil {
		return nil, pageError(r, err)
	}
	return picture, nil
}

// setAppearance sets the headers that describe a page image.
func setAppearance(c *gin.Context, r pageRequest, p *appearance.Encoded) {
	c.Header("X-Appearance-SHA256", hex.EncodeToString(p.Hash))
	c.Header("X-Appearance-Profile", strconv.Itoa(r.profile))
}
