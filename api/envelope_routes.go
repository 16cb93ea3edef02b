package api

import "countersign/models"

func (s *envelopeHandler) routes() []route {
	return []route{
		withFile(s.uploadLimit, forConsole(sender, post, "/v1/envelopes", s.createEnvelope)),
		forConsole(viewer, get, "/v1/envelopes", s.listEnvelopes),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id", s.getEnvelope)),
		withBuilderFeature(models.BuilderSend, forConsole(support, patch, "/v1/envelopes/:id", withBody(s.patchEnvelope))),
		forConsole(sender, del, "/v1/envelopes/:id", s.deleteEnvelope),
		withBuilderFeature(models.BuilderSend, forConsole(sender, post, "/v1/envelopes/:id/send", withOptionalBody(s.sendEnvelope))),
		forConsole(sender, post, "/v1/envelopes/:id/duplicate", withOptionalBody(s.duplicateEnvelope)),
		forConsole(support, post, "/v1/envelopes/:id/void", withOptionalBody(s.voidEnvelope)),
		withBuilderFeature(models.BuilderRecipients, forConsole(sender, post, "/v1/envelopes/:id/signers", withBody(s.addSigner))),
		withBuilderFeature(models.BuilderRecipients, forConsole(sender, patch, "/v1/envelopes/:id/signers/:signerId", s.patchSigner)),
		withBuilderFeature(models.BuilderRecipients, forConsole(sender, del, "/v1/envelopes/:id/signers/:signerId", s.deleteSigner)),
		forConsole(support, post, "/v1/envelopes/:id/signers/:signerId/replace", s.replaceSigner),
		forConsole(support, post, "/v1/envelopes/:id/signers/:signerId/resend", s.resendInvitation),
		forConsole(support, post, "/v1/envelopes/:id/signers/:signerId/remind", s.remindSigner),
		forConsole(sender, post, "/v1/envelopes/:id/signers/:signerId/signing-link", withOptionalBody(s.issueLink)),
		forConsole(support, post, "/v1/envelopes/:id/copies", withBody(s.requestCopies)),
		withBuilderFeature(models.BuilderAlways, forConsole(sender, post, "/v1/envelopes/:id/fields", s.addField)),
		withBuilderFeature(models.BuilderAlways, forConsole(sender, patch, "/v1/envelopes/:id/fields/:fieldId", s.patchField)),
		withBuilderFeature(models.BuilderAlways, forConsole(sender, del, "/v1/envelopes/:id/fields/:fieldId", s.deleteField)),
		forConsole(viewer, get, "/v1/envelopes/:id/progress", s.withCallerEnvelope(s.progress)),
		forConsole(viewer, get, "/v1/envelopes/:id/values", s.withCallerEnvelope(s.getValues)),
		forConsole(viewer, get, "/v1/console/home", s.getHome),
		forConsole(viewer, get, "/v1/console/envelopes", s.searchEnvelopes),
		forConsole(viewer, get, "/v1/console/envelopes/:id", s.withCallerEnvelope(s.inspectEnvelope)),
		forConsole(support, post, "/v1/console/envelopes/:id/void", withOptionalBody(s.voidEnvelope)),
		forConsole(support, post, "/v1/console/envelopes/:id/signers/:signerId/resend", s.resendInvitation),
		forConsole(support, post, "/v1/console/envelopes/:id/restart", s.withCallerEnvelope(s.restartWorkflow)),
		forConsole(support, get, "/v1/console/problems", s.listProblems),
	}
}

func (s *documentHandler) routes() []route {
	return []route{
		withFile(s.uploadLimit, withBuilderFeature(models.BuilderDocuments, forConsole(sender, post, "/v1/envelopes/:id/document", s.uploadDocument))),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/document", s.envelopes.withCallerEnvelope(s.getDocument))),
		withBuilderFeature(models.BuilderDocuments, forConsole(sender, patch, "/v1/envelopes/:id/documents/:documentId", s.patchDocument)),
		withBuilderFeature(models.BuilderDocuments, forConsole(sender, del, "/v1/envelopes/:id/documents/:documentId", s.deleteDocument)),
		forConsole(viewer, get, "/v1/envelopes/:id/documents.zip", s.envelopes.withCallerEnvelope(s.sealedArchive)),
		withBuilderFeature(models.BuilderDocuments, forConsole(sender, post, "/v1/envelopes/:id/documents/:documentId/prepare", withOptionalBody(s.prepareDocument))),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/documents/:documentId/suggestions", s.suggestions)),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page", s.envelopes.withCallerEnvelope(s.envelopePage))),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page/text", s.envelopes.withCallerEnvelope(s.envelopePageText))),
		withBuilderFeature(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page/lines", s.envelopes.withCallerEnvelope(s.envelopePageLines))),
		forConsole(viewer, get, "/v1/console/envelopes/:id/document", s.envelopes.withCallerEnvelope(s.getDocument)),
		withFile(s.uploadLimit, forConsole(sender, post, "/v1/console/envelopes/:id/documents", s.uploadConsoleDocument)),
	}
}
