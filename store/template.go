package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"countersign/models"
)

// TemplateRepository stores templates, and creates envelopes from them.
type TemplateRepository struct {
	*engine

	envelopes *EnvelopeRepository
}

func (s *TemplateRepository) register() {
	encryptRows(s.engine, func(v *models.TemplateVersion) encryptedRow {
		return encryptedRow{"template_versions", v.ID.String(), []encryptedColumn{{name: "content", text: &v.Content}}}
	})
	rewrapRows[models.TemplateVersion](s.engine, "id", nil)
}

var (
	templateRows         = selectionOf("templates", templateColumns)
	templateVersionRows  = selectionOf("template_versions", templateVersionColumns)
	versionSummaryRows   = selectionOf("template_versions", versionSummaryColumns)
	templateDocumentRows = selectionOf("template_documents", templateDocumentColumns)
)

func templateColumns(v *models.Template) []column {
	return []column{
		{"id", &v.ID},
		{"app_id", &v.AppID},
		{"tenant_id", &v.TenantID},
		{"external_id", &v.ExternalID},
		{"name", &v.Name},
		{"labels", inJSON{value: &v.Labels}},
		{"version", &v.Version},
		{"created_by", &v.CreatedBy},
		{"created_at", &v.CreatedAt},
		{"updated_at", &v.UpdatedAt},
		{"archived_at", &v.ArchivedAt},
	}
}

func templateVersionColumns(v *models.TemplateVersion) []column {
	return []column{
		{"id", &v.ID},
		{"template_id", &v.TemplateID},
		{"number", &v.Number},
		{"content", &v.Content},
		{"created_by", &v.CreatedBy},
		{"created_at", &v.CreatedAt},
	}
}

func templateDocumentColumns(d *models.TemplateDocument) []column {
	return append([]column{
		{"id", &d.RowID},
		{"version_id", &d.VersionID},
		{"template_id", &d.TemplateID},
		{"document_id", &d.ID},
		{"warnings", inJSON{value: &d.Warnings}},
		{"released", &d.Released},
	}, pdfColumns(&d.Document)...)
}

type templateLock int

const (
	readTemplate   templateLock = iota // no lock
	useTemplate                        // prevents the template from being archived concurrently
	changeTemplate                     // locks the template for changes
)

type templateQuery struct {
	templates []*models.Template
	versions  []*models.TemplateVersion
	documents []*models.TemplateDocument
	history   []*models.TemplateVersion
}

// maxVersionsShown is the maximum number of versions that are listed with a template.
const maxVersionsShown = 100

// queueTemplate adds the queries for a version of an app's template. Version 0 is the latest.
func (s *TemplateRepository) queueTemplate(t *transaction, app, id uuid.UUID, version int, lock templateLock) *templateQuery {
	q := &templateQuery{}
	if lock == useTemplate {
		s.lockTemplate(&t.batch, id, true)
	}
	selectRows(&t.batch, &q.templates, templateRows, "id = $1 AND app_id = $2"+s.forUpdate(lock == changeTemplate), id, app)
	number, args := "(SELECT version FROM templates WHERE id = $1)", []any{id}
	if version > 0 {
		number, args = "$2", append(args, version)
	}
	selectRows(&t.batch, &q.versions, templateVersionRows, "template_id = $1 AND number = "+number, args...)
	selectRows(&t.batch, &q.documents, templateDocumentRows,
		"version_id = (SELECT id FROM template_versions WHERE template_id = $1 AND number = "+number+") ORDER BY document_order", args...)
	if lock != useTemplate {
		selectRows(&t.batch, &q.history, versionSummaryRows, "template_id = $1 ORDER BY number DESC LIMIT $2", id, maxVersionsShown)
	}
	return q
}

func versionSummaryColumns(v *models.TemplateVersion) []column {
	return without(templateVersionColumns(v), []string{"content"})
}

// lockTemplate prevents a template from being archived while envelopes are being created from it. Archiving (shared is
// false) waits for the creation of envelopes, and the creation of an envelope waits for archiving. The lock is
// advisory, so it requires no write, and later readers do not delay archiving. On SQLite, the immediate transaction
// suffices.
func (s *TemplateRepository) lockTemplate(b *batch, id uuid.UUID, shared bool) {
	if !s.postgres {
		return
	}
	fn := "pg_advisory_xact_lock"
	if shared {
		fn += "_shared"
	}
	b.exec("SELECT "+fn+"(hashtextextended($1, 0))", "template "+id.String())
}

// load builds the template from the results of the queries. If a version was added between two of the queries, it
// queries the documents again.
func (q *templateQuery) load(s *engine, t *transaction) (*models.LoadedTemplate, error) {
	if len(q.templates) == 0 || len(q.versions) == 0 {
		return nil, models.ErrNotFound
	}
	out := &models.LoadedTemplate{Template: *q.templates[0], Of: *q.versions[0], Documents: q.documents, Versions: q.history}
	if len(q.documents) > 0 && q.documents[0].VersionID != out.Of.ID {
		q.documents = nil
		selectRows(&t.batch, &q.documents, templateDocumentRows, "version_id = $1 ORDER BY document_order", out.Of.ID)
		if err := t.send(); err != nil {
			return nil, err
		}
		out.Documents = q.documents
	}
	for _, d := range out.Documents {
		d.Kind, d.PurgeStatus = models.DocumentOriginal, models.PurgeActive
		if d.Released {
			d.PurgeStatus = models.PurgePurged
		}
	}
	if err := decrypt(s, &out.Of); err != nil {
		return nil, err
	}
	err := json.Unmarshal([]byte(out.Of.Content), &out.Content)
	return out, wrap(err, "read template %s", out.ID)
}

func (s *TemplateRepository) loadTemplate(t *transaction, app, id uuid.UUID, version int, lock templateLock) (*models.LoadedTemplate, error) {
	q := s.queueTemplate(t, app, id, version, lock)
	if err := t.send(); err != nil {
		return nil, err
	}
	return q.load(s.engine, t)
}

// Template loads a version of an app's template. Version 0 is the latest.
func (s *TemplateRepository) Template(ctx context.Context, app, id uuid.UUID, version int) (*models.LoadedTemplate, error) {
	var out *models.LoadedTemplate
	err := s.transact(ctx, readOnly, func(t *transaction) (err error) {
		out, err = s.loadTemplate(t, app, id, version, readTemplate)
		return err
	})
	return out, wrap(err, "load template %s", id)
}

// CreateFromTemplate calls build with a version of an app's template, and stores the resulting envelope. Version 0 is
// the latest. The envelope, its usage, its events and its outbox rows are written in a single transaction.
// CreateFromTemplate returns the errors of build, and an invalid-field error for templateId if the template is missing
// or archived.
func (s *TemplateRepository) CreateFromTemplate(ctx context.Context, app, id uuid.UUID, version int, build TemplateBuild) (*EnvelopeWithEvents, error) {
	made, err := inTransaction(ctx, s.engine, func(t *transaction) (*EnvelopeWithEvents, error) {
		return s.createFromTemplate(t, app, id, version, build)
	})
	return made, wrap(err, "create an envelope from template %s", id)
}

// TemplateBuild creates an envelope from a template (see models.LoadedTemplate.NewEnvelope), and can send it.
type TemplateBuild func(*models.LoadedTemplate) (*models.Envelope, error)

// createFromTemplate is CreateFromTemplate within a transaction. Until the transaction ends, the template cannot be
// archived, so the envelope can use the template's files.
func (s *TemplateRepository) createFromTemplate(t *transaction, app, id uuid.UUID, version int, build TemplateBuild) (*EnvelopeWithEvents, error) {
	q := s.queueTemplate(t, app, id, version, useTemplate)
	var webhooks []*models.Webhook
	queueActiveWebhooks(&t.batch, &webhooks, app)
	if err := t.send(); err != nil {
		return nil, err
	}
	from, err := q.usable(s.engine, t)
	if err != nil {
		return nil, err
	}
	e, err := build(from)
	if err != nil {
		return nil, err
	}
	return s.envelopes.createFor(t, e, &webhooks)
}

// usable is like load, but rejects a template from which no envelope can be created.
func (q *templateQuery) usable(s *engine, t *transaction) (*models.LoadedTemplate, error) {
	switch {
	case len(q.templates) == 0:
		return nil, models.InvalidField("templateId", "must be the id of a template of this app")
	case q.templates[0].ArchivedAt != nil:
		return nil, models.InvalidField("templateId", "refers to an archived template")
	case len(q.versions) == 0:
		return nil, models.InvalidField("templateVersion", "is not a version of the template; its newest is %d", q.templates[0].Version)
	}
	return q.load(s, t)
}

// TemplateTarget specifies where a template is stored. If the app already has a template with the tenant's external
// ID, a new version of that template is stored. Otherwise, a new template is stored.
type TemplateTarget struct {
	App        uuid.UUID
	Tenant     string
	ExternalID *string
	// Envelope is the envelope from which the template is created, or uuid.Nil.
	Envelope uuid.UUID
}

// Duplicate calls build with an app's envelope, and stores the resulting envelope. The original keeps its files until
// the new envelope is stored.
func (s *TemplateRepository) Duplicate(ctx context.Context, app, id uuid.UUID, build func(*models.Envelope) (*models.Envelope, error)) (*EnvelopeWithEvents, error) {
	made, err := inTransaction(ctx, s.engine, func(t *transaction) (*EnvelopeWithEvents, error) {
		l := s.envelopes.queueEnvelope(t, app, id, loadOptions{lock: true, webhooks: true})
		if err := t.send(); err != nil {
			return nil, err
		}
		if err := l.assemble(s.engine); err != nil {
			return nil, err
		}
		e, err := build(l.envelopes[0])
		if err != nil {
			return nil, err
		}
		return s.envelopes.createFor(t, e, &l.webhooks)
	})
	return made, wrap(err, "duplicate envelope %s", id)
}

// PutTemplate calls build with the template that has the external ID and with the envelope, either of which may be nil.
// It stores the resulting template version. The envelope keeps its files until the template is stored.
func (s *TemplateRepository) PutTemplate(ctx context.Context, at TemplateTarget,
	build func(was *models.LoadedTemplate, from *models.Envelope) (*models.LoadedTemplate, error),
) (StoredTemplate, error) {
	made, err := inTransaction(ctx, s.engine, func(t *transaction) (StoredTemplate, error) { return s.putTemplate(t, at, build) })
	return made, wrap(err, "store template")
}

func (s *TemplateRepository) putTemplate(t *transaction, at TemplateTarget,
	build func(*models.LoadedTemplate, *models.Envelope) (*models.LoadedTemplate, error),
) (stored StoredTemplate, err error) {
	var from *models.Envelope
	if at.Envelope != uuid.Nil {
		l := s.envelopes.queueEnvelope(t, at.App, at.Envelope, loadOptions{lock: true})
		if err := t.send(); err != nil {
			return stored, err
		}
		switch err := l.assemble(s.engine); {
		case errors.Is(err, models.ErrNotFound):
			return stored, models.InvalidField("fromEnvelope", "must be the id of an envelope of this app")
		case err != nil:
			return stored, err
		}
		from = l.envelopes[0]
	}
	was, err := s.templateOfExternalID(t, at)
	if err != nil {
		return stored, err
	}
	before := 0
	if was != nil {
		before = was.Version
	}
	made, err := build(was, from)
	if err != nil {
		return stored, err
	}
	return StoredTemplate{made, was == nil}, s.saveTemplate(t, made, was != nil, before)
}

// StoredTemplate is the result of PutTemplate. Created reports whether the template is new.
type StoredTemplate struct {
	*models.LoadedTemplate

	Created bool
}

// templateOfExternalID loads and locks the template with the external ID. It returns nil if there is none.
func (s *TemplateRepository) templateOfExternalID(t *transaction, at TemplateTarget) (*models.LoadedTemplate, error) {
	if at.ExternalID == nil {
		return nil, nil //nolint:nilnil // no external ID
	}
	holder, err := s.externalIDHolder(t, at.App, at.Tenant, *at.ExternalID)
	if err != nil || holder == uuid.Nil {
		return nil, err
	}
	return s.loadTemplate(t, at.App, holder, 0, changeTemplate)
}

// externalIDHolder locks an external ID, and returns the template that holds it, or uuid.Nil if there is none.
func (s *TemplateRepository) externalIDHolder(t *transaction, app uuid.UUID, tenant, externalID string) (holder uuid.UUID, err error) {
	t.lockExternalID("templates", app, tenant, externalID)
	t.query(func(r row) error { return r.Scan(&holder) },
		"SELECT id FROM templates WHERE app_id = $1 AND tenant_id = $2 AND external_id = $3 AND archived_at IS NULL"+s.forUpdate(true), app, tenant, externalID)
	return holder, t.send()
}

// ChangeTemplate locks an app's template, runs fn on its latest version, and saves the changes, in a single
// transaction.
func (s *TemplateRepository) ChangeTemplate(ctx context.Context, app, id uuid.UUID, fn func(*models.LoadedTemplate) error) (*models.LoadedTemplate, error) {
	out, err := inTransaction(ctx, s.engine, func(t *transaction) (*models.LoadedTemplate, error) {
		v, err := s.loadTemplate(t, app, id, 0, changeTemplate)
		if err != nil {
			return nil, err
		}
		before := v.Version
		if err := fn(v); err != nil {
			return nil, err
		}
		if v.ExternalID != nil {
			holder, err := s.externalIDHolder(t, app, v.TenantID, *v.ExternalID)
			if err != nil {
				return nil, err
			}
			if holder != uuid.Nil && holder != id {
				return nil, models.Reject(models.KindConflict, "external_id_taken", "Another template of the tenant has this externalId.")
			}
		}
		return v, s.saveTemplate(t, v, true, before)
	})
	return out, wrap(err, "change template %s", id)
}

// saveTemplate adds the statements for saving a template to the transaction. It inserts a new template, or saves the
// changes and the new version of an existing one.
func (s *TemplateRepository) saveTemplate(t *transaction, v *models.LoadedTemplate, known bool, before int) error {
	v.UpdatedAt = s.now()
	columns := templateColumns(&v.Template)
	if known {
		t.update("templates", columns[:1], columns[3:])
	} else {
		t.insert("templates", "", columns)
	}
	if v.Version == before {
		return nil
	}
	content, err := json.Marshal(v.Content)
	if err != nil {
		return fmt.Errorf("write template %s: %w", v.ID, err)
	}
	v.Of.Content = string(content)
	t.insert("template_versions", "", templateVersionColumns(encrypt(s.engine, &v.Of)))
	t.insert("template_documents", "", mapSlice(v.Documents, templateDocumentColumns)...)
	return nil
}
