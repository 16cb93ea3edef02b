package audit

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// AnchorReport describes an anchor's token and the result of its verification.
type AnchorReport struct {
	Number  int64 `json:"number"`
	Entries int64 `json:"entries"`
	// StampedAt is the time confirmed by the authority, or nil if the token is invalid.
	StampedAt *time.Time `json:"stampedAt"`
	Authority string     `json:"authority,omitempty"`
	// Trusted reports whether the authority is trusted. The authority must be one of the configured ones, and must
	// still have been trustworthy when the next anchor was created. The next anchor contains the digest of this
	// anchor's list.
	Trusted bool `json:"trusted"`
}

// anchorIndex indexes the entries of anchors by envelope.
type anchorIndex struct {
	number int64     // number of the last anchor
	before time.Time // every older event is listed in an anchor
	seq    map[uuid.UUID]int64
	gaps   bool // a list is missing or was changed
}

const (
	// linkBatch is the number of list entries that one query looks up.
	linkBatch = 500
	// maxProblems limits the number of problems that are reported for each list.
	maxProblems = 1000
	// maxLine exceeds the length of every valid line of a list.
	maxLine = 256
)

// anchors verifies the anchors and emits the findings. If the parameter only is not uuid.Nil, it skips the anchors that
// cannot list that envelope.
func (v Verifier) anchors(ctx context.Context, only uuid.UUID, emit func(*Report) error) (*anchorIndex, error) {
	// List the files before the rows, so that a list that is created in the meantime is not reported as having no row.
	keys, err := v.Blobs.List(ctx, blob.Anchors)
	if err != nil {
		return nil, err
	}
	stamps, err := v.stamps(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool)
	out := &anchorIndex{seq: make(map[uuid.UUID]int64)}
	former := models.ChainStart
	for {
		rows, err := v.Store.Anchors(ctx, out.number, pageSize)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			a := &rows[i]
			known[a.BlobKey+blob.TokenSuffix] = true
			if a.At.Add(listOverlap).After(createdAt(only)) {
				r := &Report{Anchor: &AnchorReport{Number: a.Number, Entries: a.Entries}, Problems: []string{}}
				if a.Number != out.number+1 {
					r.add("the previous anchor, number %d, was removed", a.Number-1)
				}
				v.token(r, a, stamps)
				if err := v.list(ctx, r, a, former, only, out); err != nil {
					return nil, err
				}
				if err := emit(r); err != nil {
					return nil, err
				}
			}
			out.number, out.before, former = a.Number, a.At.Add(-listOverlap), a.Digest
		}
		if len(rows) < pageSize {
			break
		}
	}
	for _, key := range keys {
		if strings.HasSuffix(key, blob.TokenSuffix) && !known[key] {
			r := &Report{Anchor: &AnchorReport{}}
			r.add("list %s was time-stamped, but has no record: an anchor was removed", strings.TrimSuffix(key, blob.TokenSuffix))
			if err := emit(r); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// createdAt returns the creation time that a UUIDv7 contains (RFC 9562), or the zero time for other UUIDs.
func createdAt(id uuid.UUID) time.Time {
	if id == uuid.Nil || id.Version() != 7 {
		return time.Time{}
	}
	return time.Unix(id.Time().UnixTime())
}

func (v Verifier) list(ctx context.Context, r *Report, a *store.Anchor, former string, only uuid.UUID, all *anchorIndex) error {
	f, err := v.Blobs.Open(ctx, a.BlobKey)
	if errors.Is(err, fs.ErrNotExist) {
		r.add("the file of the anchor's list is missing")
		all.gaps = true
		return nil
	}
	if errors.Is(err, blob.ErrDamaged) {
		r.add("the anchor's list cannot be decrypted: %s", blob.ErrDamaged)
		all.gaps = true
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read-only file
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, f.Size)); err != nil {
		return fmt.Errorf("read %s: %w", a.BlobKey, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != a.Digest {
		r.add("the anchor's list was modified")
		all.gaps = true // its content no longer proves anything
		return nil
	}
	in := bufio.NewScanner(io.NewSectionReader(f, 0, f.Size))
	in.Buffer(make([]byte, maxLine), maxLine)
	header := fmt.Sprintf(listHeader, a.Number, former, models.FormatTime(a.At))
	for line := range strings.Lines(header) {
		if !in.Scan() || in.Text()+"\n" != line {
			r.add("the anchor's list does not begin with %q", strings.TrimSuffix(line, "\n"))
		}
	}
	return v.entries(ctx, r, a, in, only, all.seq)
}

// entries verifies that every event in the list exists in the database.
func (v Verifier) entries(ctx context.Context, r *Report, a *store.Anchor, in *bufio.Scanner, only uuid.UUID, seq map[uuid.UUID]int64) error {
	var batch []store.ChainHead
	look := func() error {
		found, err := v.Store.ChainLinks(ctx, batch)
		if err != nil {
			return err
		}
		for _, h := range batch {
			seq[h.EnvelopeID] = max(seq[h.EnvelopeID], h.Seq)
			if found[h] {
				continue
			}
			if err := v.reportMissingEvent(ctx, r, h); err != nil {
				return err
			}
		}
		batch = batch[:0]
		return nil
	}
	n := int64(0)
	for ; in.Scan(); n++ {
		h, err := parseEntry(in.Text())
		if err != nil {
			r.addOneOf("the line %q of the anchor's list cannot be parsed", in.Text())
		} else if only == uuid.Nil || only == h.EnvelopeID {
			batch = append(batch, h)
		}
		if len(batch) == linkBatch {
			if err := look(); err != nil {
				return err
			}
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read %s: %w", a.BlobKey, err)
	}
	if n != a.Entries {
		r.add("the anchor's list has %d entries, but %d were recorded", n, a.Entries)
	}
	return look()
}

// parseEntry parses a line in the format that listEntry writes.
func parseEntry(line string) (h store.ChainHead, err error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		return h, errors.New("not a list entry")
	}
	id, err1 := uuid.Parse(parts[0])
	seq, err2 := strconv.ParseInt(parts[1], 10, 64)
	return store.ChainHead{EnvelopeID: id, Seq: seq, Hash: parts[2]}, errors.Join(err1, err2)
}

// reportMissingEvent reports an anchored event that is missing or has changed.
func (v Verifier) reportMissingEvent(ctx context.Context, r *Report, h store.ChainHead) error {
	_, err := v.Store.FindEnvelope(ctx, h.EnvelopeID)
	switch {
	case errors.Is(err, models.ErrNotFound):
		r.addOneOf("envelope %s no longer exists, although the anchor covers %d of its events", h.EnvelopeID, h.Seq)
	case err != nil:
		return err
	default:
		r.addOneOf("the first %d events of envelope %s differ from the anchored events", h.Seq, h.EnvelopeID)
	}
	return nil
}

// addOneOf adds a problem that can occur very often, up to a limit.
func (r *Report) addOneOf(format string, args ...any) {
	switch n := len(r.Problems); {
	case n < maxProblems:
		r.add(format, args...)
	case n == maxProblems:
		r.add("and more")
	}
}

// checkAge detects backdated events. Every event older than the last anchor must be covered by an anchor.
func (a *anchorIndex) checkAge(r *Report, events []models.Event) {
	if a.gaps {
		return
	}
	for i := range events {
		if ev := &events[i]; ev.Seq > a.seq[r.EnvelopeID] && ev.Timestamp.Before(a.before) {
			r.add("event %d is dated before anchor %d, but no anchor covers it", ev.Seq, a.number)
			return
		}
	}
}
