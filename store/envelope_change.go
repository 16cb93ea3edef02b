package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"countersign/internal/failpoint"
	"countersign/models"
)

// EnvelopeRepository loads and changes envelopes.
type EnvelopeRepository struct {
	*engine

	apps          *AppRepository
	webhooks      *WebhookRepository
	archives      *ArchiveRepository
	lists         *EnvelopeListRepository
	notifications *NotificationRepository
	effects       []effect
}

func (s *EnvelopeRepository) register() {
	encryptRows(s.engine, func(v *models.Signer) encryptedRow {
		return encryptedRow{"signers", v.ID.String(), []encryptedColumn{
			{name: "email", text: &v.Email}, {name: "phone", text: ownCopy(&v.Phone)}, {name: "previous", text: ownCopy(&v.PreviousJSON)}, {name: "host_email", text: ownCopy(&v.HostEmail)},
		}}
	})
	encryptRows(s.engine, func(v *models.Field) encryptedRow {
		return encryptedRow{"fields", v.ID.String(), []encryptedColumn{{name: "default_value", text: &v.DefaultValue}}}
	})
	encryptRows(s.engine, func(v *models.FieldValue) encryptedRow {
		return encryptedRow{"field_values", v.FieldID.String(), []encryptedColumn{{name: "text", text: &v.Text}, {name: "image", data: &v.Image}, {name: "image_sha256", text: &v.ImageSHA256}}}
	})
	encryptRows(s.engine, func(v *models.SavedSignature) encryptedRow {
		return encryptedRow{"saved_signatures", v.AppID.String() + "/" + v.EmailKey, []encryptedColumn{
			{name: "email", text: &v.Email}, {name: "image", data: &v.Image}, {name: "font_label", text: ownCopy(&v.FontLabel)},
		}}
	})
	rewrapRows[models.Field](s.engine, "id", nil)
	rewrapRows[models.FieldValue](s.engine, "field_id", nil)
	rewrapTable(s.engine, "app_id, email_key", s.rewrapSaved)
	s.registry.rewraps = append(s.registry.rewraps, func(ctx context.Context, result *rewrapping) error {
		return eachPage(ctx, &result.counts.Rows, func(ctx context.Context, after uuid.UUID) (uuid.UUID, int, error) {
			return s.rewrapSigners(ctx, result, after)
		})
	})
}

// Change locks and loads an envelope, calls fn, and saves the changes and events, in a single transaction. If fn
// returns an error, Change returns that error and changes nothing. If the envelope belongs to another app, Change
// returns models.ErrNotFound. Change compares the envelope with its loaded values, so fn can assign fields or modify
// their contents in place.
func (s *EnvelopeRepository) Change(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope) error) (*models.Envelope, error) {
	return s.changeWith(ctx, app, id, loadOptions{}, func(l *loaded) error { return fn(l.envelopes[0]) })
}

// changeWith is like Change, but also loads the data specified in o and passes it to fn.
func (s *EnvelopeRepository) changeWith(ctx context.Context, app, id uuid.UUID, o loadOptions, fn func(*loaded) error) (*models.Envelope, error) {
	var l *loaded
	err := s.changing(ctx, func(t *transaction) (err error) {
		l, err = s.change(t, app, id, o, fn)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change envelope %s: %w", id, err)
	}
	return l.envelopes[0], nil
}

// EnvelopeWithEvents is an envelope with its audit chain.
type EnvelopeWithEvents struct {
	*models.Envelope

	Log []models.Event
}

// ChangeWithEvents is like Change, but also returns the audit chain, including the newly recorded events.
func (s *EnvelopeRepository) ChangeWithEvents(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope) error) (*EnvelopeWithEvents, error) {
	var e *EnvelopeWithEvents
	err := s.changing(ctx, func(t *transaction) error {
		l, err := s.change(t, app, id, loadOptions{events: true}, func(l *loaded) error { return fn(l.envelopes[0]) })
		if err == nil {
			e = &EnvelopeWithEvents{l.envelopes[0], append(l.log(), l.envelopes[0].Events...)}
		}
		return err
	})
	return e, wrap(err, "change envelope %s", id)
}

func (s *EnvelopeRepository) change(t *transaction, app, id uuid.UUID, o loadOptions, fn func(*loaded) error) (*loaded, error) {
	o.lock, o.webhooks = true, true
	l := s.queueEnvelope(t, app, id, o)
	if err := t.send(); err != nil {
		return nil, err
	}
	if err := l.assemble(s.engine); err != nil {
		return nil, err
	}
	e := l.envelopes[0]
	if err := s.changeLoaded(t, e, l.webhooks, func(*models.Envelope) error { return fn(l) }); err != nil {
		return nil, err
	}
	if o.events && e.Archived { // the change had no effect
		return l, s.addArchivedEvents(t, l)
	}
	return l, nil
}

// changeLoaded calls fn for a loaded envelope, and adds the changes and recorded events to the transaction.
func (s *EnvelopeRepository) changeLoaded(t *transaction, e *models.Envelope, webhooks []*models.Webhook, fn func(*models.Envelope) error) error {
	before := newLoadedState(e)
	if err := fn(e); err != nil {
		return err
	}
	return s.save(t, e, before, webhooks)
}

// Create stores a new envelope with its recorded events and their effects.
func (s *EnvelopeRepository) Create(ctx context.Context, e *models.Envelope) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		var webhooks []*models.Webhook
		queueActiveWebhooks(&t.batch, &webhooks, e.AppID)
		_, err := s.createFor(t, e, &webhooks)
		return err
	})
	return wrap(err, "create envelope %s", e.ID)
}

// createFor adds a new envelope to the transaction. The parameter webhooks points to the result of a query that is in
// the same batch or was sent earlier.
func (s *EnvelopeRepository) createFor(t *transaction, e *models.Envelope, webhooks *[]*models.Webhook) (*EnvelopeWithEvents, error) {
	holder := queueExternalID(t, e)
	if err := t.send(); err != nil {
		return nil, err
	}
	if *holder != uuid.Nil {
		return nil, externalIDTaken(*holder)
	}
	if err := s.save(t, e, nil, *webhooks); err != nil {
		return nil, err
	}
	return &EnvelopeWithEvents{e, e.Events}, nil
}

// save adds the changes since b to the transaction, or the whole envelope if b is nil. It also adds the recorded events
// and their effects. After the commit, save clears the events and the other records of the change from e.
func (s *EnvelopeRepository) save(t *transaction, e *models.Envelope, b *loadedState, webhooks []*models.Webhook) error {
	t.afterCommit = append(t.afterCommit, func() {
		failpoint.Inject("store.committed")
		e.Events, e.Values, e.Adopted, e.Attached = nil, nil, nil, nil
	})
	if b != nil && unchanged(e, b) {
		return nil
	}
	if e.Archived {
		return &archivedError{e.ID}
	}
	if err := e.Chain(); err != nil {
		return err
	}
	e.Version++
	e.UpdatedAt = s.now()
	from := models.Status("")
	columns := envelopeColumns(e)
	if b == nil {
		t.insert("envelopes", "", columns)
		b = &loadedState{}
	} else {
		from = b.envelope.Status
		t.update("envelopes", []column{{"id", &e.ID}, {"version", &b.envelope.Version}, {"archived", &b.envelope.Archived}},
			pick(columns, changedColumns(columns, envelopeColumns(&b.envelope))))
	}
	recordStatusChange(&t.batch, e, from)
	if b.envelope.ID == uuid.Nil || searchChanged(e, b) {
		s.lists.indexForSearch(&t.batch, e)
	}
	removeRows(&t.batch, e, b)
	saveRows(s.engine, &t.batch, "signers", e.Recipients(), b.signers, signerColumns)
	freeOrderNumbers(&t.batch, e, b)
	saveRows(s.engine, &t.batch, "documents", e.Documents, b.documents, documentColumns)
	saveRows(s.engine, &t.batch, "fields", e.Fields, b.fields, fieldColumns)
	t.insert("field_values", "", mapSlice(pointers(e.Values), func(v *models.FieldValue) []column { return valueColumns(encrypt(s.engine, v)) })...)
	if e.Adopted != nil {
		e.Adopted.EmailKey = s.savedKeys(e.Adopted)[0]
		t.insert("saved_signatures", `ON CONFLICT (app_id, email_key) DO UPDATE SET tenant_id = excluded.tenant_id, auth_method = excluded.auth_method,
			email = excluded.email, image = excluded.image, font_label = excluded.font_label, updated_at = excluded.updated_at`,
			savedSignatureColumns(encrypt(s.engine, e.Adopted)))
	}
	saveAttachments(s.engine, &t.batch, e.Attached)
	t.insert("audit_events", "", mapSlice(pointers(e.Events), eventColumns)...)
	return s.recordEffects(t, e, webhooks)
}
