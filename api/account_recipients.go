package api

import (
	"slices"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// maxKnownPeople is the maximum number of suggested recipients in a response.
const maxKnownPeople = 10

// knownPersonView represents a suggested recipient in API responses.
type knownPersonView struct {
	Name  string  `json:"name"`
	Email string  `json:"email"`
	Phone *string `json:"phone"`
}

func viewKnownPerson(v *models.Contact) knownPersonView {
	return knownPersonView{v.Name, v.Email, v.Phone}
}

// suggestRecipients responds with people whose name or address contains the search text. Recipients of the envelopes
// that the user recently sent come first, followed by saved contacts. The user is never suggested.
func (s *contactHandler) suggestRecipients(c *gin.Context, app caller) error {
	p := models.Problems{}
	search, tenant := searchText(c, p), optionalTenantQuery(c, p, app)
	if err := checkTenantQuery(p, app, tenant); err != nil {
		return err
	}
	recent, err := s.store.RecentRecipients(c.Request.Context(), app.ID, app.user.ID, tenant, search)
	if err != nil {
		return err
	}
	saved, _, err := s.store.Contacts(c.Request.Context(), app.ID, search, 1, maxKnownPeople)
	if err != nil {
		return err
	}
	known := map[string]bool{models.EmailKey(app.user.Email): true}
	found := slices.DeleteFunc(append(recent, saved...), func(v models.Contact) bool {
		key := models.EmailKey(v.Email)
		listed := known[key]
		known[key] = true
		return listed
	})
	return respondList(c, views(found[:min(len(found), maxKnownPeople)], viewKnownPerson))
}
