package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
	"countersign/store/blob"
)

// Envelope loads an app's envelope with its signers, fields and documents.
func (s *EnvelopeRepository) Envelope(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error) {
	l, err := s.loadEnvelope(ctx, app, id, loadOptions{})
	if err != nil {
		return nil, err
	}
	return l.envelopes[0], nil
}

// EnvelopeWithEvents returns an app's envelope and its audit chain from a single snapshot.
func (s *EnvelopeRepository) EnvelopeWithEvents(ctx context.Context, app, id uuid.UUID) (*models.Envelope, []models.Event, error) {
	return s.withEvents(ctx, app, id, loadOptions{events: true})
}

// EnvelopeWithEntries is like EnvelopeWithEvents, but also returns the entered values. Pictures are represented by
// their hashes.
func (s *EnvelopeRepository) EnvelopeWithEntries(ctx context.Context, app, id uuid.UUID) (*models.Envelope, []models.Event, []models.FieldValue, error) {
	l, err := s.loadEnvelope(ctx, app, id, loadOptions{events: true, values: true})
	if err != nil {
		return nil, nil, nil, err
	}
	return l.envelopes[0], l.log(), mapSlice(l.values, func(v *models.FieldValue) models.FieldValue { return *v }), nil
}

// AnyEnvelopeWithEvents is like EnvelopeWithEvents, but finds envelopes of any app, including deleted drafts. It is
// for operators, and must not be used to process an app's requests.
func (s *EnvelopeRepository) AnyEnvelopeWithEvents(ctx context.Context, app, id uuid.UUID) (*models.Envelope, []models.Event, error) {
	return s.withEvents(ctx, app, id, loadOptions{events: true, deleted: true})
}

func (s *EnvelopeRepository) withEvents(ctx context.Context, app, id uuid.UUID, o loadOptions) (*models.Envelope, []models.Event, error) {
	l, err := s.loadEnvelope(ctx, app, id, o)
	if err != nil {
		return nil, nil, err
	}
	return l.envelopes[0], l.log(), nil
}

// loadOptions specifies how an envelope is loaded, and which related data is loaded with it.
type loadOptions struct {
	lock        bool // lock the envelope until the transaction ends
	events      bool // load the audit chain
	values      bool // load the entered values, without pictures
	webhooks    bool // load the active webhooks of the app
	attachments bool // load the attachments
	deleted     bool // include a deleted draft
}

// loaded collects the results of a batch's queries.
type loaded struct {
	envelopes   []*models.Envelope
	signers     []*models.Signer
	fields      []*models.Field
	documents   []*models.Document
	events      []*models.Event
	values      []*models.FieldValue
	webhooks    []*models.Webhook
	attachments []*models.Attachment
}

func (l *loaded) log() []models.Event {
	return mapSlice(l.events, func(ev *models.Event) models.Event { return *ev })
}

func (s *EnvelopeRepository) loadEnvelope(ctx context.Context, app, id uuid.UUID, o loadOptions) (*loaded, error) {
	var l *loaded
	var err error
	for range archiveAttempts {
		err = s.transact(ctx, readOnly, func(t *transaction) error {
			l = s.queueEnvelope(t, app, id, o)
			return nil
		})
		if err == nil {
			err = l.assemble(s.engine)
		}
		if err == nil && o.events && l.envelopes[0].Archived {
			var c *archiveContent
			if c, err = s.archives.readArchive(ctx, id); err == nil {
				l.addEvents(c)
				l.values = pointers(withoutPictures(c.values()))
			}
		}
		if !errors.Is(err, errNotArchived) { // otherwise it was restored between the two reads
			break
		}
	}
	if errors.Is(err, errNotArchived) {
		err = &ArchiveError{id, blob.Archives + id.String() + "/", "has no record"}
	}
	return l, wrap(err, "load envelope %s", id)
}

// addArchivedEvents adds the events from the archive of an envelope. The transaction must hold the envelope's lock.
func (s *EnvelopeRepository) addArchivedEvents(t *transaction, l *loaded) error {
	a, err := archiveOf(t.gorm(), l.envelopes[0].ID)
	if err != nil {
		return err
	}
	c, err := s.archives.openArchive(t.ctx, a)
	if err == nil {
		l.addEvents(c)
	}
	return err
}

// addEvents inserts the archived events before the loaded ones.
func (l *loaded) addEvents(c *archiveContent) { l.events = append(pointers(c.events()), l.events...) }

// queueEnvelope queues the queries that load an app's envelope. If the row is to be locked, the locking query comes
// first, so that all other data is read after the lock is acquired.
func (s *EnvelopeRepository) queueEnvelope(t *transaction, app, id uuid.UUID, o loadOptions) *loaded {
	l := &loaded{}
	where := "id = $1 AND app_id = $2"
	if !o.deleted {
		where += " AND status <> 'deleted'"
	}
	selectRows(&t.batch, &l.envelopes, envelopeRows, where+s.forUpdate(o.lock), id, app)
	l.queueParts(&t.batch, id)
	if o.events {
		selectRows(&t.batch, &l.events, eventRows, "envelope_id = $1 ORDER BY seq", id)
	}
	if o.values {
		queueValues(&t.batch, &l.values, id)
	}
	if o.webhooks {
		queueActiveWebhooks(&t.batch, &l.webhooks, app)
	}
	if o.attachments {
		queueAttachments(&t.batch, &l.attachments, id, s.forUpdate(o.lock))
	}
	return l
}

func (s *EnvelopeListRepository) queueEnvelopes(t *transaction, order string, lock bool, ids ...uuid.UUID) *loaded {
	l := &loaded{}
	in, args := inList(ids)
	selectRows(&t.batch, &l.envelopes, envelopeRows, "id "+in+" ORDER BY "+order+s.forUpdate(lock), args...)
	l.queueParts(&t.batch, ids...)
	return l
}

func (l *loaded) queueParts(b *batch, ids ...uuid.UUID) {
	in, args := inList(ids)
	selectRows(b, &l.signers, signerRows, "envelope_id "+in+" ORDER BY position", args...)
	selectRows(b, &l.fields, fieldRows, "envelope_id "+in+" ORDER BY position", args...)
	selectRows(b, &l.documents, documentRows, "envelope_id "+in+" ORDER BY kind, document_order", args...)
}

// assemble builds the envelopes from their parts after the batch has been sent. It returns models.ErrNotFound if no
// envelope was found.
func (l *loaded) assemble(s *engine) error {
	if len(l.envelopes) == 0 {
		return models.ErrNotFound
	}
	if err := cmp.Or(decryptAll(s, l.signers), decryptAll(s, l.fields), decryptAll(s, l.values), decryptAll(s, l.attachments)); err != nil {
		return err
	}
	byID := make(map[uuid.UUID]*models.Envelope, len(l.envelopes))
	for _, e := range l.envelopes {
		byID[e.ID] = e
	}
	for _, v := range l.signers {
		e := byID[v.EnvelopeID]
		e.AddRecipient(v)
	}
	for _, v := range l.fields {
		e := byID[v.EnvelopeID]
		e.Fields = append(e.Fields, v)
	}
	for _, v := range l.documents {
		e := byID[v.EnvelopeID]
		e.Documents = append(e.Documents, v)
	}
	return nil
}

// EnvelopeTenant returns the tenant that an app's envelope belongs to.
func (s *EnvelopeRepository) EnvelopeTenant(ctx context.Context, app, id uuid.UUID) (string, error) {
	var e models.Envelope
	err := s.db.WithContext(ctx).Select("tenant_id").Take(&e, "id = ? AND app_id = ? AND status <> ?", id, app, models.StatusDeleted).Error
	return e.TenantID, wrap(mapNotFound(err), "load envelope %s", id)
}

// AuditEvents returns an envelope's audit chain in order, up to the event that was last when e was loaded.
func (s *EnvelopeRepository) AuditEvents(ctx context.Context, e *models.Envelope) ([]models.Event, error) {
	out, err := rowsOrArchive(ctx, s.archives, e, func(db *gorm.DB) (rows []models.Event, err error) {
		return rows, db.Where("envelope_id = ? AND seq <= ?", e.ID, e.AuditSeq).Order("seq").Find(&rows).Error
	}, func(c *archiveContent) []models.Event {
		return slices.DeleteFunc(c.events(), func(ev models.Event) bool { return ev.Seq > e.AuditSeq })
	})
	return out, wrap(err, "load audit chain of %s", e.ID)
}
