package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
)

func TestConsoleApp(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, viewer := s.person(t, models.RoleAdmin), s.person(t, models.RoleViewer)
		require.Equal(t, s.app.Name, viewer.get("/v1/console/app").want(200).str("name"))
		a := admin.call(http.MethodPatch, "/v1/console/app", object{"name": "Quayside", "contact": "ops@quayside.example"}).want(200)
		require.Equal(t, "ops@quayside.example", a.str("contact"))
		require.Equal(t, "Quayside", viewer.get("/v1/console/app").want(200).str("name"))
		require.Empty(t, admin.call(http.MethodPatch, "/v1/console/app", object{"contact": ""}).want(200).str("contact"))
		admin.call(http.MethodPatch, "/v1/console/app", object{"contact": "nobody"}).rejected(400, "validation_error")
		for _, o := range []object{{"plan": "enterprise"}, {"tenants": []string{}}} { // only the operator can change these
			admin.call(http.MethodPatch, "/v1/console/app", o).rejected(400, "validation_error")
		}
	})
}

func TestConsoleClientSecrets(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, support := s.person(t, models.RoleAdmin), s.person(t, models.RoleSupport)
		login := func(secret string) int {
			return (&client{t: t, s: s}).send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded",
				form("grant_type", "client_credentials", "client_id", s.id, "client_secret", secret)).status
		}
		secrets := func() []any { return list(admin.get("/v1/console/client-secrets").want(200)) }
		require.Len(t, secrets(), 1)

		support.get("/v1/console/client-secrets").rejected(403, "role_forbidden")
		support.post("/v1/console/client-secrets", object{"password": password}).rejected(403, "role_forbidden")
		s.client(t).post("/v1/console/client-secrets", object{"password": password}).rejected(403, "user_required")
		admin.post("/v1/console/client-secrets", object{"password": "wrong one"}).rejected(400, "validation_error")
		admin.post("/v1/console/client-secrets", object{"password": password, "overlapHours": 721}).rejected(400, "validation_error")
		require.Len(t, secrets(), 1)

		// The response contains the secret, which is never returned again.
		key := admin.with("Idempotency-Key", "secret")
		made := key.post("/v1/console/client-secrets", object{"password": password, "overlapHours": 2}).want(201)
		fresh := made.str("clientSecret")
		require.Equal(t, s.id, made.str("clientId"))
		require.NotContains(t, string(admin.get("/v1/console/client-secrets").want(200).raw), fresh)
		require.Equal(t, 200, login(s.pass))
		require.Equal(t, 200, login(fresh))
		old := secrets()[1].(object)
		require.Nil(t, secrets()[0].(object)["expiresAt"])
		require.NotNil(t, old["expiresAt"])

		// The old secret is valid until it expires or is revoked. The newest secret cannot be revoked.
		end := func(id any) *response {
			return admin.post("/v1/console/client-secrets/"+id.(string)+"/end", object{"password": password})
		}
		end(secrets()[0].(object)["id"]).rejected(409, "secret_newest")
		admin.post("/v1/console/client-secrets/"+old["id"].(string)+"/end", object{"password": "wrong one"}).rejected(400, "validation_error")
		require.Equal(t, 200, login(s.pass))
		end(old["id"]).want(204)
		require.Equal(t, 401, login(s.pass))
		require.Equal(t, 200, login(fresh))
		end(old["id"]).rejected(404, "not_found")

		last := admin.post("/v1/console/client-secrets", object{"password": password, "overlapHours": 1}).want(201).str("clientSecret")
		s.clock.advance(time.Hour + time.Second)
		require.Equal(t, 401, login(fresh))
		require.Equal(t, 200, login(last))

		// Another app's secrets are not accessible.
		app, _, err := s.store.CreateApp(t.Context(), "Other", models.PlanFree, nil)
		require.NoError(t, err)
		theirs, err := s.store.ClientSecrets(t.Context(), app.ID)
		require.NoError(t, err)
		end(theirs[0].ID.String()).rejected(404, "not_found")
	})
}

// TestClientSecrets_RequireSecondFactor checks that a user with a second factor must use it to manage secrets.
func TestClientSecrets_RequireSecondFactor(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, secret, _ := s.enrolled(t, models.RoleAdmin)
	c.post("/v1/console/client-secrets", object{"password": password}).rejected(400, "validation_error")
	c.post("/v1/console/client-secrets", object{"password": password, "code": "000000"}).rejected(400, "validation_error")
	c.post("/v1/console/client-secrets", object{"password": password, "code": s.code(t, secret)}).want(201)

	strict := onSQLite(t, func(cfg *api.Config) { cfg.ConsoleTOTP = models.SecondFactorAdmins })
	strict.person(t, models.RoleAdmin).post("/v1/console/client-secrets", object{"password": password}).rejected(403, "second_factor_required")
}

// TestClientSecretRotation_KeepsWebhookSignature checks the signatures of deliveries to endpoints without their own
// secret. Until the overlap ends, the deliveries are signed with both the old and the new client secret.
func TestClientSecretRotation_KeepsWebhookSignature(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"envelope.created"}}).want(201)
		c.draft(contract())
		id := uuid.MustParse(c.get("/v1/console/webhook-deliveries").want(200).body["data"].([]any)[0].(object)["id"].(string))
		secrets := func() (out []string) {
			job, err := s.store.DeliveryJob(t.Context(), id)
			require.NoError(t, err)
			for _, b := range job.Secrets {
				out = append(out, string(b))
			}
			return out
		}
		require.Equal(t, []string{s.pass}, secrets())
		s.clock.advance(time.Second)
		fresh, err := s.store.AddSecret(t.Context(), s.app.ID, 24*time.Hour)
		require.NoError(t, err)
		require.Equal(t, []string{fresh, s.pass}, secrets(), "the newest comes first; the oldest signs X-Service-Signature")
		s.clock.advance(25 * time.Hour)
		require.Equal(t, []string{fresh}, secrets())
	})
}
