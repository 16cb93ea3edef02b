package api

import "countersign/models"

func (s *bulkHandler) routes() []route {
	return []route{
		withBodyLimit(maxBulkBody, forConsole(sender, post, "/v1/bulk-sends", s.createBulkSend)),
		forConsole(viewer, get, "/v1/bulk-sends", s.listBulkSends),
		forConsole(viewer, get, "/v1/bulk-sends/:id", s.getBulkSend),
		forConsole(viewer, get, "/v1/bulk-sends/:id/rows", s.listBulkRows),
		forConsole(sender, post, "/v1/bulk-sends/:id/pause", s.changeBulkSend(models.BulkPause)),
		forConsole(sender, post, "/v1/bulk-sends/:id/resume", s.changeBulkSend(models.BulkResume)),
		forConsole(sender, post, "/v1/bulk-sends/:id/cancel", s.changeBulkSend(models.BulkCancel)),
		forConsole(sender, post, "/v1/bulk-sends/:id/retry", s.changeBulkSend(models.BulkRetry)),
	}
}
