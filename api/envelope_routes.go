package api

import "countersign/models"

func (s *envelopeHandler) routes() []route {
	return []route{
		withFile(s.uploadLimit, forAppOrRole(sender, post, "/v1/envelopes", s.createEnvelope)),
		forAppOrRole(viewer, get, "/v1/envelopes", s.listEnvelopes),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/envelopes/:id", s.getEnvelope)),
		withBuilderFeature(models.BuilderSend, forAppOrRole(support, patch, "/v1/envelopes/:id", withBody(s.patchEnvelope))),
		forAppOrRole(sender, del, "/v1/envelopes/:id", s.deleteEnvelope),
		withBuilderFeature(models.BuilderSend, forAppOrRole(sender, post, "/v1/envelopes/:id/send", withOptionalBody(s.sendEnvelope))),
		forAppOrRole(sender, post, "/v1/envelopes/:id/duplicate", withOptionalBody(s.duplicateEnvelope)),
		forAppOrRole(support, post, "/v1/envelopes/:id/void", withOptionalBody(s.voidEnvelope)),
		withBuilderFeature(models.BuilderRecipients, forAppOrRole(sender, post, "/v1/envelopes/:id/signers", withBody(s.addSigner))),
		withBuilderFeature(models.BuilderRecipients, forAppOrRole(sender, patch, "/v1/envelopes/:id/signers/:signerId", s.patchSigner)),
		withBuilderFeature(models.BuilderRecipients, forAppOrRole(sender, del, "/v1/envelopes/:id/signers/:signerId", s.deleteSigner)),
		forAppOrRole(support, post, "/v1/envelopes/:id/signers/:signerId/replace", s.replaceSigner),
		forAppOrRole(support, post, "/v1/envelopes/:id/signers/:signerId/resend", s.resendInvitation),
		forAppOrRole(support, post, "/v1/envelopes/:id/signers/:signerId/remind", s.remindSigner),
		forAppOrRole(sender, post, "/v1/envelopes/:id/signers/:signerId/signing-link", withOptionalBody(s.issueLink)),
		forAppOrRole(support, post, "/v1/envelopes/:id/copies", withBody(s.requestCopies)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(sender, post, "/v1/envelopes/:id/fields", s.addField)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(sender, patch, "/v1/envelopes/:id/fields/:fieldId", s.patchField)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(sender, del, "/v1/envelopes/:id/fields/:fieldId", s.deleteField)),
		forAppOrRole(viewer, get, "/v1/envelopes/:id/progress", s.withCallerEnvelope(s.progress)),
		forAppOrRole(viewer, get, "/v1/envelopes/:id/values", s.withCallerEnvelope(s.getValues)),
		forAppOrRole(viewer, get, "/v1/console/home", s.getHome),
		forAppOrRole(viewer, get, "/v1/console/envelopes", s.searchEnvelopes),
		forAppOrRole(viewer, get, "/v1/console/envelopes/:id", s.withCallerEnvelope(s.inspectEnvelope)),
		forAppOrRole(support, post, "/v1/console/envelopes/:id/void", withOptionalBody(s.voidEnvelope)),
		forAppOrRole(support, post, "/v1/console/envelopes/:id/signers/:signerId/resend", s.resendInvitation),
		forAppOrRole(support, post, "/v1/console/envelopes/:id/restart", s.withCallerEnvelope(s.restartWorkflow)),
		forAppOrRole(support, get, "/v1/console/problems", s.listProblems),
	}
}

func (s *documentHandler) routes() []route {
	return []route{
		withFile(s.uploadLimit, withBuilderFeature(models.BuilderDocuments, forAppOrRole(sender, post, "/v1/envelopes/:id/document", s.uploadDocument))),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/envelopes/:id/document", s.envelopes.withCallerEnvelope(s.getDocument))),
		withBuilderFeature(models.BuilderDocuments, forAppOrRole(sender, patch, "/v1/envelopes/:id/documents/:documentId", s.patchDocument)),
		withBuilderFeature(models.BuilderDocuments, forAppOrRole(sender, del, "/v1/envelopes/:id/documents/:documentId", s.deleteDocument)),
		forAppOrRole(viewer, get, "/v1/envelopes/:id/documents.zip", s.envelopes.withCallerEnvelope(s.sealedArchive)),
		withBuilderFeature(models.BuilderDocuments, forAppOrRole(sender, post, "/v1/envelopes/:id/documents/:documentId/prepare", withOptionalBody(s.prepareDocument))),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/envelopes/:id/documents/:documentId/suggestions", s.suggestions)),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page", s.envelopes.withCallerEnvelope(s.envelopePage))),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page/text", s.envelopes.withCallerEnvelope(s.envelopePageText))),
		withBuilderFeature(models.BuilderAlways, forAppOrRole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page/lines", s.envelopes.withCallerEnvelope(s.envelopePageLines))),
		forAppOrRole(viewer, get, "/v1/console/envelopes/:id/document", s.envelopes.withCallerEnvelope(s.getDocument)),
		withFile(s.uploadLimit, forAppOrRole(sender, post, "/v1/console/envelopes/:id/documents", s.uploadConsoleDocument)),
	}
}
