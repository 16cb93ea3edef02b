// Package sweep finds unreferenced files in the file store. Such files remain if an upload or another operation was
// interrupted between writing the file and committing its transaction.
package sweep

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// Age is the minimum age, by the file store's clock, at which an unrecorded file is considered orphaned. It is much
// longer than the duration of any request.
const Age = 24 * time.Hour

// checkPrefix is the folder to which a check of the file store writes.
const checkPrefix = "check/"

// The reasons why a file is no longer needed.
const (
	ReasonUnrecorded   = "never recorded"
	ReasonPurged       = "belongs to a purged document"
	ReasonCheck        = "left over from a check of the file store"
	ReasonUnreferenced = "no longer used by a template or an envelope created from one"
)

// Orphan is a file that the database does not reference.
type Orphan struct {
	Key      string    `json:"key"`
	Size     int64     `json:"size"` // in bytes, as stored
	Modified time.Time `json:"modified"`
	Reason   string    `json:"reason"`
	Deleted  bool      `json:"deleted"`
}

// Sweeper searches a file store for orphans. It never changes unrecorded sealed files or time-stamped lists of
// anchors, because these are evidence. `audit verify` reports them.
type Sweeper struct {
	Store *store.Store
	Blobs blob.Store
	// Delete specifies whether to delete the orphans. If it is false, they are only reported.
	Delete bool
}

// batchSize is the number of files that one query looks up.
const batchSize = 500

// Run reports every orphan. If it returns an error, orphans that were already deleted stay deleted.
func (s Sweeper) Run(ctx context.Context, emit func(Orphan) error) error {
	now, err := s.clock(ctx)
	if err != nil {
		return err
	}
	for _, folder := range []struct {
		prefix string
		judge  func(context.Context, []blob.Entry) ([]Orphan, error)
	}{{blob.Envelopes, s.documents}, {blob.Templates, s.templates}, {blob.Pages, s.pages}, {blob.Anchors, s.lists}, {blob.Archives, s.archives}, {checkPrefix, expiredChecks}} {
		var old []blob.Entry
		flush := func() error {
			orphans, err := folder.judge(ctx, old)
			old = old[:0]
			if err != nil {
				return err
			}
			return s.sweep(ctx, orphans, emit)
		}
		err := s.Blobs.Walk(ctx, folder.prefix, func(e blob.Entry) error {
			if now.Sub(e.Modified) < Age {
				return nil
			}
			if old = append(old, e); len(old) < batchSize {
				return nil
			}
			return flush()
		})
		if err == nil && len(old) > 0 {
			err = flush()
		}
		if err != nil {
			return fmt.Errorf("sweep %s: %w", folder.prefix, err)
		}
	}
	return nil
}

// clock returns the current time by the file store's clock, which determines the age of files.
func (s Sweeper) clock(ctx context.Context) (now time.Time, err error) {
	f, err := s.Blobs.Temp()
	if err != nil {
		return now, err
	}
	defer blob.Discard(f)
	key := checkPrefix + filepath.Base(f.Name())
	if err := s.Blobs.Put(ctx, f, key); err != nil {
		return now, err
	}
	err = s.Blobs.Walk(ctx, key, func(e blob.Entry) error {
		now = e.Modified
		return nil
	})
	if err == nil && now.IsZero() {
		err = fmt.Errorf("the file store does not list %s, which was just written", key)
	}
	if err != nil {
		return now, err
	}
	return now, s.Blobs.Delete(ctx, key)
}

func (s Sweeper) sweep(ctx context.Context, orphans []Orphan, emit func(Orphan) error) error {
	for _, o := range orphans {
		if s.Delete {
			if err := s.Blobs.Delete(ctx, o.Key); err != nil {
				return err
			}
			o.Deleted = true
		}
		if err := emit(o); err != nil {
			return err
		}
	}
	return nil
}

func newOrphan(e blob.Entry, reason string) Orphan {
	return Orphan{Key: e.Key, Size: e.Size, Modified: e.Modified.UTC(), Reason: reason}
}

func newOrphans(files []blob.Entry, reason string) (out []Orphan) {
	for _, f := range files {
		out = append(out, newOrphan(f, reason))
	}
	return out
}

// documents returns the orphans among the files of envelopes: envelopes/<id>/original/…, …/prepared/…,
// …/attachments/… and …/sealed/….
func (s Sweeper) documents(ctx context.Context, files []blob.Entry) ([]Orphan, error) {
	var ids []uuid.UUID
	for _, f := range files {
		if id, _, ok := splitKey(f.Key); ok {
			ids = append(ids, id)
		}
	}
	recorded, err := s.Store.Files(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []Orphan
	for _, f := range files {
		id, kind, ok := splitKey(f.Key)
		if !ok {
			continue // not a file of this service
		}
		needed, purged := false, len(recorded[id]) > 0
		for _, r := range recorded[id] {
			needed = needed || r.BlobKey == f.Key && !r.Purged
			purged = purged && r.Purged
		}
		switch {
		case needed:
		case purged:
			out = append(out, newOrphan(f, ReasonPurged))
		case kind == "original" || kind == "prepared" || kind == "attachments":
			out = append(out, newOrphan(f, ReasonUnrecorded))
		}
	}
	return s.unreferenced(ctx, out)
}

// templates returns the orphans among the files of templates: templates/<id>/….
func (s Sweeper) templates(ctx context.Context, files []blob.Entry) ([]Orphan, error) {
	return s.unreferenced(ctx, newOrphans(files, ReasonUnreferenced))
}

// pages returns the orphans among the files derived from pages of stored files: pages/<key of the file>/….
func (s Sweeper) pages(ctx context.Context, files []blob.Entry) ([]Orphan, error) {
	sources := make([]string, 0, len(files))
	for _, f := range files {
		if source := blob.SourceOfPages(f.Key); source != "" {
			sources = append(sources, source)
		}
	}
	gone, err := s.Store.Unreferenced(ctx, sources...)
	if err != nil {
		return nil, err
	}
	var out []Orphan
	for _, f := range files {
		if slices.Contains(gone, blob.SourceOfPages(f.Key)) {
			out = append(out, newOrphan(f, ReasonUnreferenced))
		}
	}
	return out, s.forgetPages(ctx, gone)
}

// forgetPages removes the records of the page files that Run deletes.
func (s Sweeper) forgetPages(ctx context.Context, sources []string) error {
	if !s.Delete {
		return nil
	}
	return s.Store.RemovePageFiles(ctx, sources...)
}

// unreferenced returns the files that neither a template nor an envelope created from a template still references.
func (s Sweeper) unreferenced(ctx context.Context, files []Orphan) ([]Orphan, error) {
	keys := make([]string, 0, len(files))
	for _, f := range files {
		keys = append(keys, f.Key)
	}
	gone, err := s.Store.Unreferenced(ctx, keys...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(f Orphan) bool { return !slices.Contains(gone, f.Key) }), nil
}

func splitKey(key string) (envelope uuid.UUID, kind string, ok bool) {
	p := strings.Split(strings.TrimPrefix(key, blob.Envelopes), "/")
	if len(p) != 3 {
		return envelope, "", false
	}
	envelope, err := uuid.Parse(p[0])
	return envelope, p[1], err == nil
}

// lists returns the orphaned lists of anchors. A list is an orphan if it has neither a row nor a token.
func (s Sweeper) lists(ctx context.Context, files []blob.Entry) ([]Orphan, error) {
	var keys []string
	for _, f := range files {
		keys = append(keys, f.Key)
	}
	recorded, err := s.Store.AnchorFiles(ctx, keys)
	if err != nil {
		return nil, err
	}
	var out []Orphan
	for _, f := range files {
		if recorded[f.Key] || strings.HasSuffix(f.Key, blob.TokenSuffix) {
			continue
		}
		token, err := s.Blobs.List(ctx, f.Key+blob.TokenSuffix)
		if err != nil {
			return nil, err
		}
		if len(token) == 0 {
			out = append(out, newOrphan(f, ReasonUnrecorded))
		}
	}
	return out, nil
}

func expiredChecks(_ context.Context, files []blob.Entry) ([]Orphan, error) {
	return newOrphans(files, ReasonCheck), nil
}

// archives returns the orphans among archives/<envelope>/<archive>.csa. An unrecorded archive was never committed,
// and its key is lost.
func (s Sweeper) archives(ctx context.Context, files []blob.Entry) ([]Orphan, error) {
	ids := make(map[string]uuid.UUID, len(files))
	all := make([]uuid.UUID, 0, len(files))
	for _, f := range files {
		parts := strings.Split(strings.TrimPrefix(f.Key, blob.Archives), "/")
		name, ok := strings.CutSuffix(parts[len(parts)-1], store.ArchiveSuffix)
		id, err := uuid.Parse(name)
		if !ok || err != nil || len(parts) != 2 {
			continue // not a file of this service
		}
		ids[f.Key], all = id, append(all, id)
	}
	recorded, err := s.Store.ArchiveFiles(ctx, all)
	if err != nil {
		return nil, err
	}
	var out []Orphan
	for _, f := range files {
		if id, ours := ids[f.Key]; ours && !recorded[id] {
			out = append(out, newOrphan(f, ReasonUnrecorded))
		}
	}
	return out, nil
}

// Unused deletes attachments that have been unsigned for a day. It removes each row before its file, so that an
// attachment that is signed at the same moment is not deleted. If it returns an error, attachments that were already
// deleted stay deleted.
func Unused(ctx context.Context, s *store.Store, blobs blob.Store, now time.Time) (n int, err error) {
	for {
		rows, err := s.UnusedAttachments(ctx, now.Add(-models.UnusedAttachmentAge), batchSize)
		if err != nil {
			return n, err
		}
		for _, a := range rows {
			removed, err := s.RemoveAttachment(ctx, a.ID)
			if err == nil && removed {
				n++
				err = blobs.Delete(ctx, a.BlobKey)
			}
			if err != nil {
				return n, err
			}
		}
		if len(rows) < batchSize {
			return n, nil
		}
	}
}
