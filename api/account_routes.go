package api

func (s *appHandler) routes() []route {
	return []route{
		forPublic(get, "/.well-known/jwks.json", s.jwks),
		withBriefReplay(forPublic(post, "/oauth/token", s.token)),
		forConsole(viewer, get, "/v1/console/app", s.getApp),
		forConsole(admin, patch, "/v1/console/app", withBody(s.updateApp)),
		forConsole(admin, get, "/v1/console/client-secrets", s.listClientSecrets),
		withoutReplay(forUser(admin, post, "/v1/console/client-secrets", withBody(s.createClientSecret))),
		forUser(admin, post, "/v1/console/client-secrets/:id/end", s.endClientSecret),
	}
}

func (s *signInHandler) routes() []route {
	return []route{
		withoutReplay(forPublic(post, "/v1/console/login", s.login)),
		forPublic(get, "/v1/console/sign-in", s.signInOptions),
		withoutReplay(forPublic(post, "/v1/console/provider/begin", s.beginAtProvider)),
		withoutReplay(forPublic(post, "/v1/console/provider/complete", s.completeAtProvider)),
		withoutReplay(forOwn(post, "/v1/console/provider/connect", withBody(s.connectProvider))),
		withoutReplay(forPublic(post, "/v1/console/passkeys/challenge", s.createSignInChallenge)),
		withoutReplay(forOwn(post, "/v1/console/passkeys/proof", s.createConfirmationChallenge)),
		forOwn(get, "/v1/console/passkeys", s.listPasskeys),
		withoutReplay(forOwn(post, "/v1/console/passkeys/begin", withBody(s.beginPasskey))),
		withoutReplay(forOwn(post, "/v1/console/passkeys", withBody(s.createPasskey))),
		forOwn(post, "/v1/console/passkeys/:id/remove", s.removePasskey),
		forOwn(post, "/v1/console/logout", s.logout),
		forOwn(get, "/v1/console/sessions", s.listSessions),
		forOwn(post, "/v1/console/sessions/end", withBody(s.endSessions)),
		forOwn(post, "/v1/console/password", withBody(s.changePassword)),
		forOwn(get, "/v1/console/totp", s.factor),
		withoutReplay(forOwn(post, "/v1/console/totp", withBody(s.enroll))),
		withoutReplay(forOwn(post, "/v1/console/totp/confirm", withBody(s.confirmFactor))),
		withoutReplay(forOwn(post, "/v1/console/totp/recovery-codes", withBody(s.renewRecovery))),
		forOwn(post, "/v1/console/totp/remove", withBody(s.removeFactor)),
		withoutFactor(forConsole(viewer, get, "/v1/console/me", s.currentUser)),
	}
}

func (s *notificationHandler) routes() []route {
	return []route{
		forOwn(get, "/v1/console/me/notifications", s.getNotifications),
		forOwn(put, "/v1/console/me/notifications", s.putNotifications),
		forPublic(get, "/unsubscribe/:token", s.unsubscribePage),
		withoutReplay(forPublic(post, "/unsubscribe/:token", s.unsubscribe)),
	}
}

func (s *userHandler) routes() []route {
	return []route{
		forConsole(admin, get, "/v1/console/users", s.listUsers),
		forConsole(admin, post, "/v1/console/users", withBody(s.createUser)),
		forConsole(admin, patch, "/v1/console/users/:id", s.updateUser),
		forConsole(admin, del, "/v1/console/users/:id", s.disableUser),
		forConsole(admin, post, "/v1/console/users/:id/password", s.setUserPassword),
		forConsole(admin, del, "/v1/console/users/:id/sessions", s.endUserSessions),
		forConsole(admin, del, "/v1/console/users/:id/totp", s.resetFactor),
	}
}

func (s *contactHandler) routes() []route {
	return []route{
		forConsole(viewer, get, "/v1/console/contacts", s.listContacts),
		forConsole(support, post, "/v1/console/contacts", withBody(s.saveContact)),
		forConsole(support, del, "/v1/console/contacts/:id", s.deleteContact),
		forUser(viewer, get, "/v1/console/recipients", s.suggestRecipients),
		forConsole(viewer, get, "/v1/console/usage", s.usage),
	}
}

func (s *settingsHandler) routes() []route {
	return []route{
		forConsole(viewer, get, "/v1/console/settings", s.getSettings),
		forConsole(admin, put, "/v1/console/settings", s.putSettings),
	}
}

func (s *brandingHandler) routes() []route {
	return []route{
		forConsole(viewer, get, "/v1/tenants/:tenantId/branding", s.getBranding),
		forConsole(admin, put, "/v1/tenants/:tenantId/branding", s.putBranding),
		forConsole(admin, del, "/v1/tenants/:tenantId/branding", s.deleteBranding),
	}
}
