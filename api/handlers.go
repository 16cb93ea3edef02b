package api

import (
	"cmp"
	"runtime"
	"slices"

	"countersign/internal/limit"
	"countersign/seal/admission"
	"countersign/store"
	"countersign/store/blob"
)

type handlers struct {
	webhooks      *webhookHandler
	signIns       *signInHandler
	apps          *appHandler
	users         *userHandler
	notifications *notificationHandler
	contacts      *contactHandler
	branding      *brandingHandler
	settings      *settingsHandler
	files         *uploads
	envelopes     *envelopeHandler
	documents     *documentHandler
	templates     *templateHandler
	signings      *signingHandler
	bulk          *bulkHandler
	embedded      *embeddedHandler
	portal        *portalHandler
	verification  *verifyHandler
}

// newHandlers creates the handlers in the order of their dependencies.
func newHandlers(s *shared, cfg Config) (*handlers, error) {
	h := &handlers{}
	relyingParty, err := newRelyingParty(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	h.webhooks = &webhookHandler{
		subject: newSubject(s, cfg.Store, func(st *store.Store) webhookStore { return st }), allowPrivate: cfg.AllowPrivateHooks,
		streamLimit: cmp.Or(cfg.StreamLimit, streamLimit), stopping: cfg.Stopping,
	}
	h.signIns = &signInHandler{
		subject: newSubject(s, cfg.Store, func(st *store.Store) signInStore { return st }), provider: cfg.Provider, relyingParty: relyingParty,
	}
	h.apps = &appHandler{newSubject(s, cfg.Store, func(st *store.Store) appStore { return st }), h.signIns}
	h.users = &userHandler{newSubject(s, cfg.Store, func(st *store.Store) userStore { return st })}
	h.notifications = &notificationHandler{newSubject(s, cfg.Store, func(st *store.Store) notificationStore { return st }), cfg.Pages}
	h.contacts = &contactHandler{newSubject(s, cfg.Store, func(st *store.Store) contactStore { return st })}
	h.branding = &brandingHandler{newSubject(s, cfg.Store, func(st *store.Store) brandingStore { return st })}
	h.settings = &settingsHandler{newSubject(s, cfg.Store, func(st *store.Store) settingsStore { return st }), cfg.DefaultExpiryDays, cfg.ReminderInterval}
	h.files = &uploads{newSubject(s, cfg.Store, func(st *store.Store) uploadStore { return st }), cfg.Scanner}
	pages := &pageFiles{subject: newSubject(s, cfg.Store, func(st *store.Store) pageStore { return st }), renderer: cfg.Renderer, readingCopies: limit.New(maxConcurrentReadingCopies)}
	h.envelopes = &envelopeHandler{
		subject: newSubject(s, cfg.Store, func(st *store.Store) envelopeStore { return st }), uploads: h.files, settings: h.settings,
		signingURL: cfg.SigningURL, workflows: cfg.Workflows, workflowsURL: cfg.WorkflowsURL, deliveryDelays: cfg.DeliveryDelays,
	}
	h.documents = &documentHandler{newSubject(s, cfg.Store, func(st *store.Store) documentStore { return st }), h.envelopes, h.files, pages}
	h.templates = &templateHandler{newSubject(s, cfg.Store, func(st *store.Store) templateStore { return st }), h.files, h.envelopes, h.settings, pages}
	h.envelopes.fromTemplate = h.templates.createFromTemplate
	h.signings = &signingHandler{
		subject: newSubject(s, cfg.Store, func(st *store.Store) signingStore { return st }), uploads: h.files, envelopes: h.envelopes, settings: h.settings, branding: h.branding, pages: pages,
		codes: cfg.Codes, mail: cfg.Mail, declineNeedsCode: cfg.DeclineNeedsCode, codeBeforeReading: cfg.CodeBeforeReading,
	}
	h.bulk = &bulkHandler{newSubject(s, cfg.Store, func(st *store.Store) bulkStore { return st }), h.templates, h.settings, newBulkLimit()}
	h.embedded = &embeddedHandler{
		newSubject(s, cfg.Store, func(st *store.Store) embeddedStore { return st }), h.envelopes, cfg.EmbedURL, cfg.Pages, cfg.Development,
	}
	h.portal = &portalHandler{newSubject(s, cfg.Store, func(st *store.Store) portalStore { return st }), h.branding, pages}
	h.verification = &verifyHandler{
		newSubject(s, cfg.Store, func(st *store.Store) verifyStore { return st }), cfg.Trust, limit.New(int64(runtime.NumCPU())), cfg.Renderer,
	}
	return h, nil
}

func (h *handlers) routes() []route {
	return slices.Concat(
		h.envelopes.routes(), h.documents.routes(), h.templates.routes(), h.bulk.routes(), h.signings.routes(), h.embedded.routes(), h.portal.routes(), h.verification.routes(),
		h.webhooks.routes(), h.apps.routes(), h.signIns.routes(), h.users.routes(), h.notifications.routes(), h.contacts.routes(), h.settings.routes(), h.branding.routes(),
	)
}

func newShared(cfg Config) *shared {
	s := &shared{
		requests: cfg.Store, blobs: cfg.Blobs, files: blob.NewReader(cfg.Blobs), tokens: cfg.Tokens, sms: cfg.SMS,
		baseURL: cfg.BaseURL, uploadLimit: cfg.UploadLimit, admission: cfg.Admission, stallLimit: cmp.Or(cfg.StallLimit, stallLimit), queueWait: cfg.QueueWait,
		consoleIdle: cmp.Or(cfg.ConsoleIdle, consoleIdle), consoleTOTP: cfg.ConsoleTOTP,
		admissions: limit.New(maxConcurrentAdmissions), work: limit.New(workMemory), bodyMemory: newBodyMemory(cfg.QueueWait),
		bearerRoutes: make(map[string]bool),
		tracer:       cfg.Tracer, observed: cfg.Observe, fileMissing: cfg.FileMissing, log: cfg.Log, now: cfg.Now, newID: cfg.NewID,
	}
	if s.admission.MaxBytes == 0 {
		s.admission = admission.DefaultLimits()
	}
	s.admission.Renderer = cfg.Renderer
	var together quotas
	if cfg.SharedLimits {
		together = cfg.Store
	}
	s.limits = newLimiter(cfg.RateLimit, cfg.Now, together)
	return s
}
