package api

import "countersign/models"

func (s *envelopeHandler) routes() []route {
	return []route{
		withFile(s.uploadLimit, forConsole(sender, post, "/v1/envelopes", s.createEnvelope)),
		forConsole(viewer, get, "/v1/envelopes", s.listEnvelopes),
		builderMay(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id", s.getEnvelope)),
		builderMay(models.BuilderSend, forConsole(support, patch, "/v1/envelopes/:id", withBody(s.patchEnvelope))),
		forConsole(sender, del, "/v1/envelopes/:id", s.deleteEnvelope),
		builderMay(models.BuilderSend, forConsole(sender, post, "/v1/envelopes/:id/send", withOptionalBody(s.sendEnvelope))),
		forConsole(sender, post, "/v1/envelopes/:id/duplicate", withOptionalBody(s.duplicateEnvelope)),
		forConsole(support, post, "/v1/envelopes/:id/void", withOptionalBody(s.voidEnvelope)),
		builderMay(models.BuilderRecipients, forConsole(sender, post, "/v1/envelopes/:id/signers", withBody(s.addSigner))),
		builderMay(models.BuilderRecipients, forConsole(sender, patch, "/v1/envelopes/:id/signers/:signerId", s.patchSigner)),
		builderMay(models.BuilderRecipients, forConsole(sender, del, "/v1/envelopes/:id/signers/:signerId", s.deleteSigner)),
		forConsole(support, post, "/v1/envelopes/:id/signers/:signerId/replace", s.replaceSigner),
		forConsole(support, post, "/v1/envelopes/:id/signers/:signerId/resend", s.resendInvitation),
		forConsole(support, post, "/v1/envelopes/:id/signers/:signerId/remind", s.remindSigner),
		forConsole(sender, post, "/v1/envelopes/:id/signers/:signerId/signing-link", withOptionalBody(s.issueLink)),
		forConsole(support, post, "/v1/envelopes/:id/copies", withBody(s.requestCopies)),
		builderMay(models.BuilderAlways, forConsole(sender, post, "/v1/envelopes/:id/fields", s.addField)),
		builderMay(models.BuilderAlways, forConsole(sender, patch, "/v1/envelopes/:id/fields/:fieldId", s.patchField)),
		builderMay(models.BuilderAlways, forConsole(sender, del, "/v1/envelopes/:id/fields/:fieldId", s.deleteField)),
		forConsole(viewer, get, "/v1/envelopes/:id/progress", s.ofEnvelope(s.progress)),
		forConsole(viewer, get, "/v1/envelopes/:id/values", s.ofEnvelope(s.getValues)),
		forConsole(viewer, get, "/v1/console/home", s.getHome),
		forConsole(viewer, get, "/v1/console/envelopes", s.searchEnvelopes),
		forConsole(viewer, get, "/v1/console/envelopes/:id", s.ofEnvelope(s.inspectEnvelope)),
		forConsole(support, post, "/v1/console/envelopes/:id/void", withOptionalBody(s.voidEnvelope)),
		forConsole(support, post, "/v1/console/envelopes/:id/signers/:signerId/resend", s.resendInvitation),
		forConsole(support, post, "/v1/console/envelopes/:id/restart", s.ofEnvelope(s.restartWorkflow)),
		forConsole(support, get, "/v1/console/problems", s.listProblems),
	}
}

func (s *documentHandler) routes() []route {
	return []route{
		withFile(s.uploadLimit, builderMay(models.BuilderDocuments, forConsole(sender, post, "/v1/envelopes/:id/document", s.uploadDocument))),
		builderMay(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/document", s.envelopes.ofEnvelope(s.getDocument))),
		builderMay(models.BuilderDocuments, forConsole(sender, patch, "/v1/envelopes/:id/documents/:documentId", s.patchDocument)),
		builderMay(models.BuilderDocuments, forConsole(sender, del, "/v1/envelopes/:id/documents/:documentId", s.deleteDocument)),
		forConsole(viewer, get, "/v1/envelopes/:id/documents.zip", s.envelopes.ofEnvelope(s.sealedArchive)),
		builderMay(models.BuilderDocuments, forConsole(sender, post, "/v1/envelopes/:id/documents/:documentId/prepare", withOptionalBody(s.prepareDocument))),
		builderMay(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/documents/:documentId/suggestions", s.suggestions)),
		builderMay(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page", s.envelopes.ofEnvelope(s.envelopePage))),
		builderMay(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page/text", s.envelopes.ofEnvelope(s.envelopePageText))),
		builderMay(models.BuilderAlways, forConsole(viewer, get, "/v1/envelopes/:id/documents/:documentId/pages/:page/lines", s.envelopes.ofEnvelope(s.envelopePageLines))),
		forConsole(viewer, get, "/v1/console/envelopes/:id/document", s.envelopes.ofEnvelope(s.getDocument)),
		withFile(s.uploadLimit, forConsole(sender, post, "/v1/console/envelopes/:id/documents", s.uploadConsoleDocument)),
	}
}
