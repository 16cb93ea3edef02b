package api

func (s *appHandler) routes() []route {
	return []route{
		forPublic(get, "/.well-known/jwks.json", s.jwks),
		withBriefReplay(forPublic(post, "/oauth/token", s.token)),
		forAppOrRole(viewer, get, "/v1/console/app", s.getApp),
		forAppOrRole(admin, patch, "/v1/console/app", withBody(s.updateApp)),
		forAppOrRole(admin, get, "/v1/console/client-secrets", s.listClientSecrets),
		withoutReplay(forRole(admin, post, "/v1/console/client-secrets", withBody(s.createClientSecret))),
		forRole(admin, post, "/v1/console/client-secrets/:id/end", s.endClientSecret),
	}
}

func (s *signInHandler) routes() []route {
	return []route{
		withoutReplay(forPublic(post, "/v1/console/login", s.login)),
		forPublic(get, "/v1/console/sign-in", s.signInOptions),
		withoutReplay(forPublic(post, "/v1/console/provider/begin", s.beginAtProvider)),
		withoutReplay(forPublic(post, "/v1/console/provider/complete", s.completeAtProvider)),
		withoutReplay(forOwnAccount(post, "/v1/console/provider/connect", withBody(s.connectProvider))),
		withoutReplay(forPublic(post, "/v1/console/passkeys/challenge", s.createSignInChallenge)),
		withoutReplay(forOwnAccount(post, "/v1/console/passkeys/proof", s.createConfirmationChallenge)),
		forOwnAccount(get, "/v1/console/passkeys", s.listPasskeys),
		withoutReplay(forOwnAccount(post, "/v1/console/passkeys/begin", withBody(s.beginPasskey))),
		withoutReplay(forOwnAccount(post, "/v1/console/passkeys", withBody(s.createPasskey))),
		forOwnAccount(post, "/v1/console/passkeys/:id/remove", s.removePasskey),
		forOwnAccount(post, "/v1/console/logout", s.logout),
		forOwnAccount(get, "/v1/console/sessions", s.listSessions),
		forOwnAccount(post, "/v1/console/sessions/end", withBody(s.endSessions)),
		forOwnAccount(post, "/v1/console/password", withBody(s.changePassword)),
		forOwnAccount(get, "/v1/console/totp", s.factor),
		withoutReplay(forOwnAccount(post, "/v1/console/totp", withBody(s.enroll))),
		withoutReplay(forOwnAccount(post, "/v1/console/totp/confirm", withBody(s.confirmFactor))),
		withoutReplay(forOwnAccount(post, "/v1/console/totp/recovery-codes", withBody(s.renewRecovery))),
		forOwnAccount(post, "/v1/console/totp/remove", withBody(s.removeFactor)),
		withoutFactor(forAppOrRole(viewer, get, "/v1/console/me", s.currentUser)),
	}
}

func (s *notificationHandler) routes() []route {
	return []route{
		forOwnAccount(get, "/v1/console/me/notifications", s.getNotifications),
		forOwnAccount(put, "/v1/console/me/notifications", s.putNotifications),
		forPublic(get, "/unsubscribe/:token", s.unsubscribePage),
		withoutReplay(forPublic(post, "/unsubscribe/:token", s.unsubscribe)),
	}
}

func (s *userHandler) routes() []route {
	return []route{
		forAppOrRole(admin, get, "/v1/console/users", s.listUsers),
		forAppOrRole(admin, post, "/v1/console/users", withBody(s.createUser)),
		forAppOrRole(admin, patch, "/v1/console/users/:id", s.updateUser),
		forAppOrRole(admin, del, "/v1/console/users/:id", s.disableUser),
		forAppOrRole(admin, post, "/v1/console/users/:id/password", s.setUserPassword),
		forAppOrRole(admin, del, "/v1/console/users/:id/sessions", s.endUserSessions),
		forAppOrRole(admin, del, "/v1/console/users/:id/totp", s.resetFactor),
	}
}

func (s *contactHandler) routes() []route {
	return []route{
		forAppOrRole(viewer, get, "/v1/console/contacts", s.listContacts),
		forAppOrRole(support, post, "/v1/console/contacts", withBody(s.saveContact)),
		forAppOrRole(support, del, "/v1/console/contacts/:id", s.deleteContact),
		forRole(viewer, get, "/v1/console/recipients", s.suggestRecipients),
		forAppOrRole(viewer, get, "/v1/console/usage", s.usage),
	}
}

func (s *settingsHandler) routes() []route {
	return []route{
		forAppOrRole(viewer, get, "/v1/console/settings", s.getSettings),
		forAppOrRole(admin, put, "/v1/console/settings", s.putSettings),
	}
}

func (s *brandingHandler) routes() []route {
	return []route{
		forAppOrRole(viewer, get, "/v1/tenants/:tenantId/branding", s.getBranding),
		forAppOrRole(admin, put, "/v1/tenants/:tenantId/branding", s.putBranding),
		forAppOrRole(admin, del, "/v1/tenants/:tenantId/branding", s.deleteBranding),
	}
}
