package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/seal/appearance"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
	"countersign/seal/verify"
)

// verifyPagesPerMinute is the maximum number of pages of verified documents that are rendered per minute for each IP
// address.
const verifyPagesPerMinute = 120

// countVerifiedPage returns an error if too many pages were recently rendered for the client.
func (s *verifyHandler) countVerifiedPage(c *gin.Context) error {
	return s.newAttempts("verify-page:"+callerNetwork(c), rateWindow, verifyPagesPerMinute).count(c, tooManyAttempts)
}

// errDiffers is returned for a page whose appearance differs from the seal record.
var errDiffers = models.Reject(models.KindUnprocessable, "appearance_differs", "The appearance of the page differs from the seal record.")

// verifyPage renders a page of a sealed PDF with the appearance displayed to the signers, and compares it with the seal
// record. It stores nothing.
func (s *verifyHandler) verifyPage(c *gin.Context) error {
	if err := checkQuery(c); err != nil {
		return err
	}
	level, err := pageLevel(c)
	if err != nil {
		return err
	}
	page, err := strconv.Atoi(c.Param("page"))
	if err != nil || page < 1 {
		return models.ErrNotFound
	}
	u, err := s.receiveSealed(c)
	if err != nil {
		return err
	}
	defer u.discard()
	ctx, cancel := context.WithTimeout(c.Request.Context(), pageLimit)
	defer cancel()
	shown, err := s.readDisplayedPages(ctx, u)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(shown.Pages, func(p manifest.PagePicture) bool { return p.Page == page && p.Level == level })
	if i < 0 {
		return models.ErrNotFound
	}
	picture, err := s.renderOriginalPage(ctx, u, shown, page, level)
	if err != nil {
		return err
	}
	if hex.EncodeToString(picture.Hash) != shown.Pages[i].SHA256 {
		return errDiffers
	}
	c.Header("Cache-Control", "no-store")
	c.Header("X-Appearance-SHA256", shown.Pages[i].SHA256)
	c.Header("X-Appearance-Profile", strconv.Itoa(shown.Profile.Number))
	c.Data(http.StatusOK, picture.MediaType, picture.Content)
	return nil
}

// readDisplayedPages returns a sealed PDF's record of the pages that were displayed to its signers.
func (s *verifyHandler) readDisplayedPages(ctx context.Context, u *upload) (*manifest.Appearance, error) {
	done, err := acquire(ctx, s.verifications, 1, cmp.Or(s.queueWait, verifyWait), "Too many documents are being verified")
	if err != nil {
		return nil, err
	}
	defer done()
	policy, err := s.trustPolicy(ctx)
	if err != nil {
		return nil, err
	}
	work, stop := context.WithTimeout(ctx, verifyTimeoutFactor*verify.ExaminationTime(u.Size))
	defer stop()
	found, err := s.examineSealed(work, u.file, u.Size)
	if err != nil {
		return nil, err
	}
	report := found.Report(verify.Options{Trust: policy, Now: s.now})
	if report.Record == nil || report.Record.Appearance == nil {
		return nil, models.ErrNotFound
	}
	return report.Record.Appearance, nil
}

// renderOriginalPage renders a page of the original, which is the beginning of the sealed PDF.
func (s *verifyHandler) renderOriginalPage(ctx context.Context, u *upload, shown *manifest.Appearance, page, level int) (*appearance.Encoded, error) {
	if known := appearance.Current(); known.Number != shown.Profile.Number || known.Module != shown.Profile.Module || known.Fonts != shown.Profile.Fonts {
		return nil, errOtherProfile
	}
	base, sum := io.NewSectionReader(u.file, 0, shown.Size), sha256.New()
	if _, err := io.Copy(sum, base); err != nil {
		return nil, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != shown.SHA256 {
		return nil, errDiffers
	}
	release, err := s.acquireWorkMemory(ctx, appearance.Memory(appearance.MaxPixels))
	if err != nil {
		return nil, err
	}
	defer release()
	picture, err := s.renderer.Page(ctx, base, base.Size(), page, appearance.Level(level))
	if rejected, ok := errors.AsType[*rejection.Error](err); ok {
		return nil, models.Reject(models.KindUnprocessable, rejected.Code, "%s", rejected.Message)
	}
	if errors.Is(err, appearance.ErrNoPage) {
		return nil, errDiffers
	}
	return picture, err
}
