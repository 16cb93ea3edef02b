package api

func (s *webhookHandler) routes() []route {
	return []route{
		forApp(get, "/v1/webhooks", listWebhooks(s, viewWebhook, respondArray)),
		forApp(post, "/v1/webhooks", withBody(s.createWebhook)),
		forApp(get, "/v1/webhooks/:id", s.getWebhook),
		forApp(patch, "/v1/webhooks/:id", s.patchWebhook),
		forApp(del, "/v1/webhooks/:id", s.deleteWebhook),
		forApp(post, "/v1/webhooks/:id/test", s.pingWebhook),
		forApp(get, "/v1/events", s.listEvents),
		forApp(get, "/v1/events/stream", s.streamEvents),
		forAppOrRole(viewer, get, "/v1/console/webhooks", listWebhooks(s, viewConsoleWebhook, respondList)),
		forAppOrRole(admin, post, "/v1/console/webhooks", withBody(s.createConsoleWebhook)),
		forAppOrRole(admin, patch, "/v1/console/webhooks/:id", s.updateWebhook),
		forAppOrRole(admin, del, "/v1/console/webhooks/:id", s.deleteWebhook),
		forAppOrRole(admin, post, "/v1/console/webhooks/:id/pause", s.setWebhookActive(false)),
		forAppOrRole(admin, post, "/v1/console/webhooks/:id/resume", s.setWebhookActive(true)),
		forAppOrRole(admin, post, "/v1/console/webhooks/:id/secret", s.rotateSecret),
		forAppOrRole(support, post, "/v1/console/webhooks/:id/ping", s.pingWebhook),
		forAppOrRole(support, post, "/v1/console/webhooks/:id/resend", s.resendSince),
		forAppOrRole(viewer, get, "/v1/console/webhook-deliveries", s.listDeliveries),
		forAppOrRole(viewer, get, "/v1/console/webhook-deliveries/:id", s.getDelivery),
		forAppOrRole(support, post, "/v1/console/webhook-deliveries/:id/resend", s.resendDelivery),
	}
}
