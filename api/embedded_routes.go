package api

func (s *embeddedHandler) routes() []route {
	return []route{
		forApp(post, "/v1/embedded/signing-sessions", withBody(s.createSession)),
		forApp(del, "/v1/embedded/signing-sessions/:id", s.revokeEmbedded(embeddedStore.RevokeEmbeddedSession)),
		forApp(post, "/v1/embedded/builder-sessions", withBody(s.createBuilderSession)),
		forApp(del, "/v1/embedded/builder-sessions/:id", s.revokeEmbedded(embeddedStore.RevokeBuilderSession)),
		forPublic(get, "/v1/embedded/builders/:token", s.openBuilderSession),
		forPublic(get, "/v1/embedded/sessions/:token", s.openSession),
		forPublic(get, "/embed/:token", s.embedPage),
		forPublic(get, "/embed/build/:token", s.builderPage),
	}
}
