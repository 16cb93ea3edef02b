package api

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/store"
)

// inboxQuery reads the inbox filter. It returns "" if the parameter is absent.
func inboxQuery(c *gin.Context, p models.Problems) store.Inbox {
	text, present := c.GetQuery("inbox")
	part := store.Inbox(text)
	if present && !slices.Contains(store.Inboxes, part) {
		p.Add("inbox", "must be action_needed, waiting, drafts or completed")
	}
	return part
}

// homeView contains the data of the console's start page.
type homeView struct {
	Counts  map[store.Inbox]int64 `json:"counts"`
	Tenants []string              `json:"tenants"` // all tenants with envelopes or, for a restricted client, the tenants that it may access
}

// getHome counts the envelopes in each part of the inbox, for one tenant or for all tenants.
func (s *envelopeHandler) getHome(c *gin.Context, app caller) error {
	p := models.Problems{}
	f := store.EnvelopeFilter{App: app.ID, Tenant: optionalTenantQuery(c, p, app)}
	if err := checkTenantQuery(p, app, f.Tenant); err != nil {
		return err
	}
	counts, err := s.store.InboxCounts(c.Request.Context(), f)
	if err != nil {
		return err
	}
	tenants := app.Tenants
	if len(tenants) == 0 {
		if tenants, err = s.store.Tenants(c.Request.Context(), app.ID); err != nil {
			return err
		}
	}
	return respond(c, http.StatusOK, homeView{counts, append([]string{}, tenants...)})
}
