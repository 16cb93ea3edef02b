package api

func (s *embeddedHandler) routes() []route {
	return []route{
		forApp(post, "/v1/embedded/signing-sessions", withBody(s.createSession)),
		forApp(del, "/v1/embedded/signing-sessions/:id", s.revokeEmbedded(embeddedStore.RevokeEmbeddedSession)),
		forApp(post, "/v1/embedded/builder-sessions", withBody(s.createBuilderSession)),
		forApp(del, "/v1/embedded/builder-sessions/:id", s.revokeEmbedded(embeddedStore.RevokeBuilderSession)),
		forAnyone(get, "/v1/embedded/builders/:token", s.openBuilderSession),
		forAnyone(get, "/v1/embedded/sessions/:token", s.openSession),
		forAnyone(get, "/embed/:token", s.embedPage),
		forAnyone(get, "/embed/build/:token", s.builderPage),
	}
}
