package api

func (s *portalHandler) routes() []route {
	return []route{
		forAnyone(get, "/v1/receipts/:token", s.receipt),
		forAnyone(get, "/v1/download/:token", s.download),
		forAnyone(get, "/v1/download/:token/document", s.downloadDocument),
		forAnyone(get, "/v1/download/:token/pages/:page", s.downloadPage),
		forAnyone(get, "/v1/download/:token/pages/:page/text", s.downloadPageText),
		forAnyone(get, "/v1/download/:token/logo", s.downloadLogo),
	}
}
