package api

import "countersign/models"

func (s *signingHandler) routes() []route {
	return []route{
		forAppOrRole(viewer, get, "/v1/envelopes/:id/attachments/:aid", s.envelopes.withCallerEnvelope(s.getAttachment)),
		forAppOrRole(viewer, get, "/v1/console/envelopes/:id/signers/:signerId/preview", s.envelopes.withCallerEnvelope(s.preview)),
		forSigner(get, "/v1/signing/:token", s.signingContext),
		forSigner(post, "/v1/signing/:token/otp/request", s.requestCode),
		forSigner(post, "/v1/signing/:token/otp/verify", withBody(s.verifyCode)),
		forSigner(post, "/v1/signing/:token/consent", withOptionalBody(s.consent)),
		withBodyLimit(maxSign, forSigner(post, "/v1/signing/:token/sign", s.sign)),
		forSigner(post, "/v1/signing/:token/decline", withOptionalBody(s.decline)),
		forSigner(post, "/v1/signing/:token/delegate", withBody(s.delegate)),
		forSigner(get, "/v1/signing/:token/document", s.signingDocument),
		forSigner(get, "/v1/signing/:token/documents", s.signingDocuments),
		forSigner(get, "/v1/signing/:token/documents/:docId", s.signingDocumentByID),
		forSigner(get, "/v1/signing/:token/documents/:docId/pages/:page", s.signingPage),
		forSigner(get, "/v1/signing/:token/documents/:docId/pages/:page/text", s.signingPageText),
		withoutReplay(withBodyLimit(maxSign, forSigner(post, "/v1/signing/:token/documents/:docId/pages/:page/finished", s.finishedPage))),
		forSigner(post, "/v1/signing/:token/page-view", withBody(s.pageView)),
		forSigner(post, "/v1/signing/:token/fit", withBody(s.checkFit)),
		forSigner(get, "/v1/signing/:token/shown", s.displayedValuesDigest),
		withFile(models.MaxAttachmentSize, forSigner(post, "/v1/signing/:token/attachments", s.attach)),
		forSigner(get, "/v1/signing/:token/attachments/:aid", s.signingAttachment),
		forSigner(del, "/v1/signing/:token/attachments/:aid", s.detach),
		forSigner(get, "/v1/signing/:token/pictures/:sha256", s.signingPicture),
		afterExpiry(forSigner(get, "/v1/signing/:token/outcome", s.outcome)),
		afterExpiry(forSigner(get, "/v1/signing/:token/logo", s.signingLogo)),
	}
}
