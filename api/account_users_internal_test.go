package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

// twoUsers is a store with a password user and a provider user, both with a second factor.
type twoUsers struct{ userStore }

func (twoUsers) UserDetails(context.Context, uuid.UUID) ([]store.UserDetail, error) {
	return []store.UserDetail{{SecondFactor: true}, {ConsoleUser: models.ConsoleUser{OIDCSubject: []byte("ada")}, SecondFactor: true}}, nil
}

// TestListUsers_SecondFactor checks that a user of the provider is listed without a second factor, because the service
// does not require one.
func TestListUsers_SecondFactor(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/console/users", nil)
	h := &userHandler{subject[userStore]{store: twoUsers{}}}
	require.NoError(t, h.listUsers(c, caller{App: &models.App{}}))
	require.Regexp(t, `"signIn":"password","secondFactor":true,.*"signIn":"provider","secondFactor":false`, w.Body.String())
}
