package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/store"
)

func (s *Server) routes() []route {
	pub := func(method, path string, h func(*gin.Context) error) route {
		return route{method: method, path: path, access: public, public: h}
	}
	app := func(method, path string, h func(*gin.Context, caller) error) route {
		return route{method: method, path: path, access: bearer, app: h}
	}
	large := func(limit int64, r route) route {
		r.body.all = limit
		return r
	}
	withFile := func(limit int64, r route) route {
		r.body = bodyLimit{limit + besideFile, limit}
		return r
	}
	first := func(before func(*gin.Context) error, r route) route {
		r.before = before
		return r
	}
	type row = func(role models.Role, method, path string, h func(*gin.Context, caller) error) route
	group := func(access credentialKind, prefix string) row {
		return func(role models.Role, method, path string, h func(*gin.Context, caller) error) route {
			return route{method: method, path: prefix + path, access: access, role: role, app: h}
		}
	}
	// For the app itself, and for its console users of a role.
	con, both, tenant := group(console, "/v1/console"), group(console, "/v1/envelopes"), group(console, "/v1/tenants/:tenantId")
	templates, bulk := group(console, "/v1/templates"), group(console, "/v1/bulk-sends")
	// A person's alone: of the own account, or of the app where the role and the second factor count.
	ownAs := group(consoleUser, "/v1/console")
	own := func(method, path string, h func(*gin.Context, caller) error) route {
		r := ownAs(models.RoleViewer, method, path, h)
		r.allowWithoutMFA = true
		return r
	}
	anew := func(r route) route {
		r.replay = neverReplay
		return r
	}
	token := func(r route) route {
		r.replay = replayBriefly
		return r
	}
	allowWithoutMFA := func(r route) route {
		r.allowWithoutMFA = true
		return r
	}
	sig := func(method, path string, h func(*gin.Context, signerLink) error) route {
		return route{method: method, path: "/v1/signing/:token" + path, access: signing, signer: h}
	}
	ended := func(r route) route {
		r.allowExpiredLink = true
		return r
	}
	const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	// Also for a builder session that has the feature.
	built := func(f models.BuilderFeature, r route) route {
		r.builder = f
		return r
	}
	const viewer, support, sender, admin = models.RoleViewer, models.RoleSupport, models.RoleSender, models.RoleAdmin
	return []route{
		pub(get, "/healthz", s.healthz),
		pub(get, "/readyz", s.readyz),
		pub(get, "/openapi.yaml", s.openAPI),
		pub(get, catalogPath, s.errorsPage),
		pub(get, "/.well-known/jwks.json", s.jwks),
		token(pub(post, "/oauth/token", s.token)),

		withFile(s.UploadLimit, both(sender, post, "", s.createEnvelope)),
		both(viewer, get, "", s.listEnvelopes),
		built(models.BuilderAlways, both(viewer, get, "/:id", s.getEnvelope)),
		built(models.BuilderSend, both(support, patch, "/:id", withBody(s.patchEnvelope))),
		both(sender, del, "/:id", s.deleteEnvelope),
		built(models.BuilderSend, both(sender, post, "/:id/send", withOptionalBody(s.sendEnvelope))),
		both(support, post, "/:id/void", withOptionalBody(s.voidEnvelope)),
		built(models.BuilderRecipients, both(sender, post, "/:id/signers", withBody(s.addSigner))),
		built(models.BuilderRecipients, both(sender, patch, "/:id/signers/:signerId", s.patchSigner)),
		built(models.BuilderRecipients, both(sender, del, "/:id/signers/:signerId", s.deleteSigner)),
		both(support, post, "/:id/signers/:signerId/replace", s.replaceSigner),
		both(support, post, "/:id/signers/:signerId/resend", s.resendInvitation),
		both(sender, post, "/:id/signers/:signerId/signing-link", withOptionalBody(s.issueLink)),
		both(support, post, "/:id/copies", withBody(s.requestCopies)),
		built(models.BuilderAlways, both(sender, post, "/:id/fields", s.addField)),
		built(models.BuilderAlways, both(sender, patch, "/:id/fields/:fieldId", s.patchField)),
		built(models.BuilderAlways, both(sender, del, "/:id/fields/:fieldId", s.deleteField)),
		withFile(s.UploadLimit, built(models.BuilderDocuments, both(sender, post, "/:id/document", s.uploadDocument))),
		built(models.BuilderAlways, both(viewer, get, "/:id/document", s.ofEnvelope(s.getDocument))),
		built(models.BuilderDocuments, both(sender, patch, "/:id/documents/:documentId", s.patchDocument)),
		built(models.BuilderDocuments, both(sender, del, "/:id/documents/:documentId", s.deleteDocument)),
		both(viewer, get, "/:id/documents.zip", s.ofEnvelope(s.sealedArchive)),
		withFile(s.UploadLimit, templates(sender, post, "", s.createTemplate)),
		templates(viewer, get, "", s.listTemplates),
		built(models.BuilderAlways, templates(viewer, get, "/:id", s.getTemplate)),
		built(models.BuilderAlways, templates(viewer, get, "/:id/document", s.templateDocument)),
		built(models.BuilderAlways, templates(viewer, get, "/:id/documents/:documentId/suggestions", s.templateSuggestions)),
		withFile(s.UploadLimit, built(models.BuilderAlways, templates(sender, patch, "/:id", s.patchTemplate))),
		templates(sender, del, "/:id", s.archiveTemplate),
		both(viewer, get, "/:id/progress", s.ofEnvelope(s.progress)),
		both(viewer, get, "/:id/values", s.ofEnvelope(s.getValues)),
		both(viewer, get, "/:id/attachments/:aid", s.ofEnvelope(s.getAttachment)),
		built(models.BuilderDocuments, both(sender, post, "/:id/documents/:documentId/prepare", withOptionalBody(s.prepareDocument))),
		built(models.BuilderAlways, both(viewer, get, "/:id/documents/:documentId/suggestions", s.suggestions)),

		large(maxBulkBody, bulk(sender, post, "", s.createBulkSend)),
		bulk(viewer, get, "", s.listBulkSends),
		bulk(viewer, get, "/:id", s.getBulkSend),
		bulk(viewer, get, "/:id/rows", s.listBulkRows),
		bulk(sender, post, "/:id/pause", s.changeBulkSend(models.BulkPause)),
		bulk(sender, post, "/:id/resume", s.changeBulkSend(models.BulkResume)),
		bulk(sender, post, "/:id/cancel", s.changeBulkSend(models.BulkCancel)),
		bulk(sender, post, "/:id/retry", s.changeBulkSend(models.BulkRetry)),

		app(get, "/v1/webhooks", listWebhooks(s, viewWebhook)),
		app(post, "/v1/webhooks", withBody(s.createWebhook)),
		app(get, "/v1/webhooks/:id", s.getWebhook),
		app(patch, "/v1/webhooks/:id", s.patchWebhook),
		app(del, "/v1/webhooks/:id", s.deleteWebhook),
		app(post, "/v1/webhooks/:id/test", s.pingWebhook),

		app(get, "/v1/events", s.listEvents),
		app(get, "/v1/events/stream", s.streamEvents),

		anew(pub(post, "/v1/console/login", s.login)),
		pub(get, "/v1/console/sign-in", s.signInOptions),
		anew(pub(post, "/v1/console/provider/begin", s.beginAtProvider)),
		anew(pub(post, "/v1/console/provider/complete", s.completeAtProvider)),
		anew(own(post, "/provider/connect", withBody(s.connectProvider))),
		anew(pub(post, "/v1/console/passkeys/challenge", s.askForPasskey)),
		anew(own(post, "/passkeys/proof", s.askAgainForPasskey)),
		own(get, "/passkeys", s.listPasskeys),
		anew(own(post, "/passkeys/begin", withBody(s.beginPasskey))),
		anew(own(post, "/passkeys", withBody(s.createPasskey))),
		own(post, "/passkeys/:id/remove", s.removePasskey),
		own(post, "/logout", s.logout),
		own(get, "/sessions", s.listSessions),
		own(post, "/sessions/end", withBody(s.endSessions)),
		own(post, "/password", withBody(s.changePassword)),
		own(get, "/totp", s.factor),
		anew(own(post, "/totp", withBody(s.enrol))),
		anew(own(post, "/totp/confirm", withBody(s.confirmFactor))),
		anew(own(post, "/totp/recovery-codes", withBody(s.renewRecovery))),
		own(post, "/totp/remove", withBody(s.removeFactor)),
		allowWithoutMFA(con(viewer, get, "/me", s.currentUser)),
		con(admin, get, "/users", s.listUsers),
		con(admin, post, "/users", withBody(s.createUser)),
		con(admin, patch, "/users/:id", s.updateUser),
		con(admin, del, "/users/:id", s.disableUser),
		con(admin, post, "/users/:id/password", s.setUserPassword),
		con(admin, del, "/users/:id/sessions", s.endUserSessions),
		con(admin, del, "/users/:id/totp", s.resetFactor),
		con(viewer, get, "/envelopes", s.searchEnvelopes),
		con(viewer, get, "/envelopes/:id", s.ofEnvelope(s.inspectEnvelope)),
		con(viewer, get, "/envelopes/:id/document", s.ofEnvelope(s.getDocument)),
		withFile(s.UploadLimit, con(sender, post, "/envelopes/:id/documents", s.uploadConsoleDocument)),
		con(support, post, "/envelopes/:id/void", withOptionalBody(s.voidEnvelope)),
		con(support, post, "/envelopes/:id/signers/:signerId/resend", s.resendInvitation),
		con(viewer, get, "/contacts", s.listContacts),
		con(support, post, "/contacts", withBody(s.saveContact)),
		con(support, del, "/contacts/:id", s.deleteContact),
		con(viewer, get, "/usage", s.usage),
		con(viewer, get, "/settings", s.getSettings),
		con(admin, put, "/settings", s.putSettings),
		tenant(viewer, get, "/branding", s.getBranding),
		tenant(admin, put, "/branding", s.putBranding),
		tenant(admin, del, "/branding", s.deleteBranding),
		con(viewer, get, "/app", s.getApp),
		con(admin, patch, "/app", withBody(s.updateApp)),
		con(admin, get, "/client-secrets", s.listClientSecrets),
		anew(ownAs(admin, post, "/client-secrets", withBody(s.createClientSecret))),
		ownAs(admin, post, "/client-secrets/:id/end", s.endClientSecret),
		con(viewer, get, "/webhooks", listWebhooks(s, viewConsoleWebhook)),
		con(admin, post, "/webhooks", withBody(s.createConsoleWebhook)),
		con(admin, patch, "/webhooks/:id", s.updateWebhook),
		con(admin, del, "/webhooks/:id", s.deleteConsoleWebhook),
		con(admin, post, "/webhooks/:id/pause", s.setWebhookActive(false)),
		con(admin, post, "/webhooks/:id/resume", s.setWebhookActive(true)),
		con(admin, post, "/webhooks/:id/secret", s.rotateSecret),
		con(support, post, "/webhooks/:id/ping", s.pingWebhook),
		con(support, post, "/webhooks/:id/resend", s.resendSince),
		con(viewer, get, "/webhook-deliveries", s.listDeliveries),
		con(viewer, get, "/webhook-deliveries/:id", s.getDelivery),
		con(support, post, "/webhook-deliveries/:id/resend", s.resendDelivery),

		app(post, "/v1/embedded/signing-sessions", withBody(s.createSession)),
		app(del, "/v1/embedded/signing-sessions/:id", s.revokeEmbedded((*store.Store).RevokeEmbeddedSession)),
		app(post, "/v1/embedded/builder-sessions", withBody(s.createBuilderSession)),
		app(del, "/v1/embedded/builder-sessions/:id", s.revokeEmbedded((*store.Store).RevokeBuilderSession)),
		pub(get, "/v1/embedded/builders/:token", s.openBuilderSession),
		pub(get, "/v1/embedded/sessions/:token", s.openSession),
		pub(get, "/embed/:token", s.embedPage),
		pub(get, "/embed/build/:token", s.builderPage),

		first(s.countVerification, withFile(s.UploadLimit+besideOriginal, anew(pub(post, "/v1/verify", s.verify)))),

		sig(get, "", s.signingContext),
		sig(post, "/otp/request", s.requestCode),
		sig(post, "/otp/verify", withBody(s.verifyCode)),
		sig(post, "/consent", withOptionalBody(s.consent)),
		large(maxSign, sig(post, "/sign", s.sign)),
		sig(post, "/decline", withOptionalBody(s.decline)),
		sig(post, "/delegate", withBody(s.delegate)),
		sig(get, "/document", s.signingDocument),
		sig(get, "/documents", s.signingDocuments),
		sig(get, "/documents/:docId", s.signingDocumentByID),
		sig(post, "/page-view", withBody(s.pageView)),
		sig(post, "/fit", withBody(s.checkFit)),
		sig(get, "/shown", s.shown),
		withFile(models.MaxAttachmentSize, sig(post, "/attachments", s.attach)),
		sig(get, "/attachments/:aid", s.signingAttachment),
		sig(del, "/attachments/:aid", s.detach),
		sig(get, "/pictures/:sha256", s.signingPicture),
		ended(sig(get, "/outcome", s.outcome)),
		ended(sig(get, "/logo", s.signingLogo)),

		pub(get, "/v1/receipts/:token", s.receipt),

		pub(get, "/v1/download/:token", s.download),
		pub(get, "/v1/download/:token/document", s.downloadDocument),
		pub(get, "/v1/download/:token/logo", s.downloadLogo),
	}
}

// Routes lists the endpoints of the API as the contract writes them, such as
// "GET /v1/envelopes/{id}". Pages are not among them.
func (s *Server) Routes() []string {
	var out []string
	for _, r := range s.publishedRoutes() {
		parts := strings.Split(r.path, "/")
		for i, p := range parts {
			if name, ok := strings.CutPrefix(p, ":"); ok {
				parts[i] = "{" + name + "}"
			}
		}
		out = append(out, r.method+" "+strings.Join(parts, "/"))
	}
	return out
}

// publishedRoutes are those in the contract.
func (s *Server) publishedRoutes() []route {
	return slices.DeleteFunc(s.routes(), func(r route) bool {
		return slices.Contains([]string{"/openapi.yaml", catalogPath, "/embed/:token", "/embed/build/:token"}, r.path)
	})
}

// isAPI reports whether a path belongs to the API, so that an unknown one is
// answered in the API's words.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/oauth/") || strings.HasPrefix(path, "/.well-known/")
}
