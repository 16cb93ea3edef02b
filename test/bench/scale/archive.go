package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

const (
	// makers is the number of envelopes that are created concurrently. Archiving is sequential in both the cleanup and
	// this measurement.
	makers = 4
	// archiveRound is the number of envelopes that one cleanup round archives.
	archiveRound = 100
)

// archivedTables lists the tables whose rows are moved, and the table in which archives are recorded.
var archivedTables = []string{"audit_events", "field_values", "envelope_archives"}

// archiveOptions contains the number of archived envelopes, the number of other envelopes, and whether the archives
// are stored in S3.
type archiveOptions struct {
	n, among int
	s3       bool
}

// measureArchives completes envelopes in the same way as the mix of "make load", and archives all of them. It prints
// the saved space, the speed, and the cost of reading an archived envelope. The size of the other envelopes is not
// included.
func measureArchives(ctx context.Context, server string, o archiveOptions) error {
	n := o.n
	b, err := open(ctx, server, fmt.Sprintf("archive_%d_%d", n, now().Unix()), o.s3)
	if err != nil {
		return err
	}
	defer b.close()
	others := map[string]int64{}
	if o.among > 0 {
		if err := b.fill(ctx, o.among); err != nil {
			return err
		}
		if _, err := b.pool.Exec(ctx, "UPDATE envelopes SET archived = true"); err != nil {
			return fmt.Errorf("mark the other envelopes as archived: %w", err)
		}
		if others, err = b.archiveSizes(ctx); err != nil {
			return err
		}
	}
	refs, err := b.completeMany(ctx, n)
	if err != nil {
		return err
	}
	before, err := b.archiveSizes(ctx)
	if err != nil {
		return err
	}
	took, err := b.archiveMany(ctx, n)
	if err != nil {
		return err
	}
	after, err := b.archiveSizes(ctx)
	if err != nil {
		return err
	}
	say("\n%d completed two-signer envelopes; sizes after VACUUM FULL, including indexes:", n)
	say("%-34s %14s %14s", "bytes per envelope", "before", "after")
	for _, name := range append([]string{"the database"}, append(slices.Clone(archivedTables), "the file store")...) {
		say("%-34s %14.0f %14.0f", name, float64(before[name]-others[name])/float64(n), float64(after[name]-others[name])/float64(n))
	}
	say("%-34s %14.0f", "envelopes archived per second", float64(n)/took.Seconds())
	return b.compareArchived(ctx, refs)
}

// completeMany creates n completed envelopes with two signers each.
func (b *bench) completeMany(ctx context.Context, n int) ([]store.EnvelopeRef, error) {
	app, _, err := b.store.CreateApp(ctx, appName, models.PlanEnterprise, nil)
	if err != nil {
		return nil, err
	}
	b.app = app.ID
	if b.bearer, err = b.tokens.IssueAccess(b.app); err != nil {
		return nil, err
	}
	start := now()
	refs := make([]store.EnvelopeRef, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(makers)
	for i := range refs {
		g.Go(func() error {
			e, err := b.completed(start.Add(-time.Hour))
			if err != nil {
				return err
			}
			refs[i] = store.EnvelopeRef{ID: e.ID, AppID: b.app}
			return b.store.Create(ctx, e)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("complete envelopes: %w", err)
	}
	say("%d envelopes created in %s", n, now().Sub(start).Round(time.Second))
	return refs, nil
}

// completed returns an envelope that two signers have signed, each with an image and text. Its audit trail contains all
// events.
func (b *bench) completed(at time.Time) (*models.Envelope, error) {
	var failed error
	must := func(err error) { failed = errors.Join(failed, err) }
	by := func(actor string) models.ActionContext {
		at = at.Add(time.Second)
		return models.ActionContext{At: at, Actor: actor, IP: "127.0.0.1", UserAgent: "Go-http-client/1.1", NewID: newID}
	}
	app, subject, value := models.AppActor(b.app), "Bench", "Value"
	e, err := models.NewEnvelope(by(app), models.Envelope{AppID: b.app, TenantID: tenant, CreatedBy: "bench", Subject: &subject})
	if err != nil {
		return nil, err
	}
	const size = 700
	_, err = e.AddDocument(by(app), models.DocumentInput{Document: models.Document{
		Name: "document.pdf", SHA256: strings.Repeat("0", 64), Size: size, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "k",
	}}, 1)
	must(err)
	for i := range 2 {
		s, err := e.AddSigner(by(app), models.SignerInput{Name: "Signer", Email: fmt.Sprintf("signer%d@example.com", i), RoutingOrder: 1, AuthMethod: models.AuthNone})
		if err != nil {
			return nil, err
		}
		for k, kind := range []models.FieldType{models.FieldSignature, models.FieldText} {
			_, err := e.AddFields(by(app), []models.FieldInput{{
				SignerRef: s.ID.String(), Type: kind, Page: 1, X: float64(72 + 228*k), Y: float64(100 + 60*i), W: 150, H: 20, Required: true, Origin: models.OriginTopLeft,
			}}, models.NoPrefix)
			must(err)
		}
	}
	must(e.Send(by(app), nil))
	for _, s := range e.Signers {
		must(e.Invited(by(models.ActorSystem), s.ID, false, ""))
	}
	for i, s := range e.Signers {
		if failed != nil {
			return nil, failed
		}
		link, signer := models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}, models.SignerActor(s.ID)
		_, err1 := e.Open(by(signer), link)
		_, err2 := e.Consent(by(signer), link, new(models.Signer).Disclosure("en"))
		_, err3 := e.Sign(by(signer), link, models.Submission{Fields: []models.FieldSubmission{
			{FieldID: e.Fields[2*i].ID, Image: kit.Signature()}, {FieldID: e.Fields[2*i+1].ID, Text: &value},
		}})
		must(errors.Join(err1, err2, err3))
	}
	must(e.Complete(by(models.ActorSystem), []models.SealedFile{{
		OriginalID: e.Originals()[0].ID, SHA256: strings.Repeat("1", 64), Size: 50 * size, PageCount: 1, BlobKey: "s",
	}}))
	return e, failed
}

// archiveMany archives n envelopes in the same rounds as the cleanup.
func (b *bench) archiveMany(ctx context.Context, n int) (time.Duration, error) {
	start, moved := now(), 0
	for moved < n {
		due, err := b.store.EnvelopesToArchive(ctx, now().Add(time.Hour), archiveRound)
		if err != nil {
			return 0, err
		}
		if len(due) == 0 {
			return 0, fmt.Errorf("%d envelopes were archived instead of %d", moved, n)
		}
		for _, ref := range due {
			if err := b.store.Archive(ctx, ref); err != nil {
				return 0, err
			}
			moved++
		}
	}
	return now().Sub(start), nil
}

// archiveSizes returns the sizes in bytes of the database, of the tables that archiving changes, and of the archive
// files. It first deletes the rows that a dispatcher would have removed.
func (b *bench) archiveSizes(ctx context.Context) (map[string]int64, error) {
	for _, sql := range []string{"DELETE FROM outbox", "VACUUM (FULL, ANALYZE)", "CHECKPOINT"} {
		if _, err := b.pool.Exec(ctx, sql); err != nil {
			return nil, fmt.Errorf("%s: %w", sql, err)
		}
	}
	out := make(map[string]int64)
	sizeOf := func(name, query string, args ...any) error {
		var n int64
		err := b.pool.QueryRow(ctx, query, args...).Scan(&n)
		out[name] = n
		return err
	}
	err := sizeOf("the database", "SELECT pg_database_size(current_database())")
	for _, table := range archivedTables {
		err = errors.Join(err, sizeOf(table, "SELECT pg_total_relation_size($1::regclass)", table))
	}
	if err != nil {
		return nil, fmt.Errorf("sizes: %w", err)
	}
	return out, b.files.Walk(ctx, blob.Archives, func(e blob.Entry) error {
		out["the file store"] += e.Size
		return nil
	})
}

// compareArchived restores some envelopes to the database. It compares reading them with reading other envelopes that
// are still archived, alternating between the two.
func (b *bench) compareArchived(ctx context.Context, refs []store.EnvelopeRef) error {
	few := min(rounds, len(refs)/2)
	restored, archived := refs[:few], refs[len(refs)-few:]
	var restoring []time.Duration
	for _, ref := range restored {
		start := now()
		if err := b.store.Restore(ctx, ref.ID); err != nil {
			return err
		}
		restoring = append(restoring, now().Sub(start))
	}
	var took [2][]time.Duration
	for i := range 2 * few {
		for k, of := range [][]store.EnvelopeRef{restored, archived} {
			t, err := b.read(ctx, "/v1/envelopes/"+of[i%few].ID.String())
			if err != nil {
				return err
			}
			if i >= few { // the first pass reads the pages from disk and is not counted
				took[k] = append(took[k], t)
			}
		}
	}
	say("%-34s %14s", "get from the tables, p50", median(took[0]).Round(time.Microsecond))
	say("%-34s %14s", "get from the archive, p50", median(took[1]).Round(time.Microsecond))
	say("%-34s %14s", "restore, p50", median(restoring).Round(time.Microsecond))
	return nil
}
