package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/cli/terminal"
	"countersign/models"
	"countersign/seal/appearance"
	"countersign/seal/manifest"
	"countersign/seal/verify"
)

// errAppearance is returned if the appearance of a page differs from the record.
var errAppearance = errors.New("a page differs from its recorded appearance")

// verifyAppearance renders the pages that were displayed to signers and compares them with the record. It renders them
// from the original, which is the beginning of the sealed file. If dir is not empty, it also writes the page images to
// that directory.
func verifyAppearance(ctx context.Context, f *io.SectionReader, report verify.Report, dir string, quiet bool) (err error) {
	if report.Record == nil || report.Record.Appearance == nil {
		return errors.New("the seal record does not contain the appearance of the pages")
	}
	shown := report.Record.Appearance
	if known, ok := appearance.Lookup(shown.Profile.Number); !ok || known.Module != shown.Profile.Module || known.Fonts != shown.Profile.Fonts {
		return fmt.Errorf("this version of the program does not support profile %d of the record", shown.Profile.Number)
	}
	base := io.NewSectionReader(f, 0, shown.Size)
	sum := sha256.New()
	if _, err := io.Copy(sum, base); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != shown.SHA256 {
		return errors.New("the file whose pages were shown is not the beginning of this file")
	}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return err
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	r, err := newRenderer(createCacheDir(filepath.Join(cache, "countersign")), slog.Default())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.compile(ctx); err != nil {
		return err
	}
	for _, p := range shown.Pages {
		if err := verifyPicture(ctx, r, base, p, dir); err != nil {
			return err
		}
	}
	for _, t := range shown.Texts {
		text, err := r.Text(ctx, base, base.Size(), t.Page)
		if err != nil {
			return fmt.Errorf("text of page %d: %w", t.Page, err)
		}
		if _, sum, err := text.Encode(); err != nil || hex.EncodeToString(sum[:]) != t.SHA256 {
			return errors.Join(fmt.Errorf("text of page %d: %w", t.Page, errAppearance), err)
		}
	}
	finished, err := verifyFinished(ctx, r, f, report.Record)
	if err != nil || quiet {
		return err
	}
	return sayAppearance(report.Record, shown, finished)
}

// verifyFinished compares the pages that were displayed before signing with the sealed pages, and returns the number of
// compared pages. It skips a page on which another signer entered a value later.
func verifyFinished(ctx context.Context, r *pageRenderer, sealed *io.SectionReader, record *verify.Record) (compared int, err error) {
	signedAt := make(map[string]time.Time)
	for _, s := range record.Signers {
		signedAt[s.ID] = models.Deref(s.SignedAt, time.Time{})
	}
	for _, p := range record.Appearance.Finished {
		later := slices.ContainsFunc(record.Values, func(v manifest.Value) bool {
			return v.Page == p.Page && signedAt[v.SignerID].After(signedAt[p.SignerID])
		})
		if p.DocumentID != record.Document.ID || later {
			continue
		}
		picture, err := r.Page(ctx, sealed, sealed.Size(), p.Page, appearance.Level(p.Level))
		if err != nil {
			return 0, fmt.Errorf("finished page %d, level %d: %w", p.Page, p.Level, err)
		}
		if hex.EncodeToString(picture.Hash) != p.SHA256 {
			return 0, fmt.Errorf("finished page %d, level %d: %w", p.Page, p.Level, errAppearance)
		}
		compared++
	}
	return compared, nil
}

// createCacheDir creates a directory if possible, and returns its name.
func createCacheDir(dir string) string {
	_ = os.MkdirAll(dir, 0o700) // if this fails, the renderer does not use a cache
	return dir
}

func verifyPicture(ctx context.Context, r *pageRenderer, base *io.SectionReader, p manifest.PagePicture, dir string) error {
	picture, err := r.Page(ctx, base, base.Size(), p.Page, appearance.Level(p.Level))
	if err != nil {
		return fmt.Errorf("page %d, level %d: %w", p.Page, p.Level, err)
	}
	if hex.EncodeToString(picture.Hash) != p.SHA256 {
		return fmt.Errorf("page %d, level %d: %w", p.Page, p.Level, errAppearance)
	}
	if dir == "" {
		return nil
	}
	_, ending, _ := strings.Cut(picture.MediaType, "/")
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("page-%04d-level-%d.%s", p.Page, p.Level, ending)), picture.Content, 0o600)
}

// sayAppearance prints the number of reproduced pages, and lists the pages that were displayed to each signer.
func sayAppearance(record *verify.Record, shown *manifest.Appearance, finished int) error {
	if err := terminal.Printf("\nAppearance: %d pictures and the text of %d page(s) reproduced, profile %d", len(shown.Pages), len(shown.Texts), shown.Profile.Number); err != nil {
		return err
	}
	if len(shown.Finished) > 0 {
		if err := terminal.Printf("Shown before signing: %d of %d pages compared with the sealed document", finished, len(shown.Finished)); err != nil {
			return err
		}
	}
	names := make(map[string]string)
	for _, s := range record.Signers {
		names[s.ID] = s.Name
	}
	for _, s := range shown.Signers {
		if err := terminal.Printf("  %s: %s", names[s.SignerID], describePages(s)); err != nil {
			return err
		}
	}
	return nil
}

// describePages returns a description of the pages that were displayed to a signer as images.
func describePages(s manifest.SignerPages) string {
	var levels []string
	for _, l := range s.Levels {
		if l.Level == 0 {
			continue
		}
		var ranges []string
		for _, r := range l.Pages {
			if r[0] == r[1] {
				ranges = append(ranges, fmt.Sprint(r[0]))
			} else {
				ranges = append(ranges, fmt.Sprintf("%d–%d", r[0], r[1]))
			}
		}
		levels = append(levels, fmt.Sprintf("pages %s at level %d", strings.Join(ranges, ", "), l.Level))
	}
	if len(levels) == 0 {
		return "pages were not shown by this service"
	}
	return strings.Join(levels, "; ")
}
