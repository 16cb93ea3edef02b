package api

func (s *portalHandler) routes() []route {
	return []route{
		forPublic(get, "/v1/receipts/:token", s.receipt),
		forPublic(get, "/v1/download/:token", s.download),
		forPublic(get, "/v1/download/:token/document", s.downloadDocument),
		forPublic(get, "/v1/download/:token/pages/:page", s.downloadPage),
		forPublic(get, "/v1/download/:token/pages/:page/text", s.downloadPageText),
		forPublic(get, "/v1/download/:token/logo", s.downloadLogo),
	}
}
