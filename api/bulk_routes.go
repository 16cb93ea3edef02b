package api

import "countersign/models"

func (s *bulkHandler) routes() []route {
	return []route{
		withBodyLimit(maxBulkBody, forAppOrRole(sender, post, "/v1/bulk-sends", s.createBulkSend)),
		forAppOrRole(viewer, get, "/v1/bulk-sends", s.listBulkSends),
		forAppOrRole(viewer, get, "/v1/bulk-sends/:id", s.getBulkSend),
		forAppOrRole(viewer, get, "/v1/bulk-sends/:id/rows", s.listBulkRows),
		forAppOrRole(sender, post, "/v1/bulk-sends/:id/pause", s.changeBulkSend(models.BulkPause)),
		forAppOrRole(sender, post, "/v1/bulk-sends/:id/resume", s.changeBulkSend(models.BulkResume)),
		forAppOrRole(sender, post, "/v1/bulk-sends/:id/cancel", s.changeBulkSend(models.BulkCancel)),
		forAppOrRole(sender, post, "/v1/bulk-sends/:id/retry", s.changeBulkSend(models.BulkRetry)),
	}
}
