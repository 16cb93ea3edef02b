package api_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/credential"
	"countersign/models"
)

const notificationsPath = "/v1/console/me/notifications"

// TestNotificationSettings_ArePerUser checks that each user has separate settings, and that an update keeps the members
// it omits.
func TestNotificationSettings_ArePerUser(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		ada, bob := s.person(t, models.RoleViewer), s.person(t, models.RoleAdmin)
		events := object{"completed": true, "declined": true, "expired": true, "bounced": true, "sealingProblem": true, "opened": false, "signed": false}
		want := object{"email": ada.email(), "frequency": "immediate", "events": events, "language": nil, "timeZone": "UTC"}
		require.Equal(t, want, ada.get(notificationsPath).want(200).body)

		got := ada.call(http.MethodPut, notificationsPath, object{"frequency": "daily", "timeZone": "Europe/Berlin", "language": "de", "events": object{"opened": true, "completed": false}}).want(200).body
		events["opened"], events["completed"] = true, false
		want["frequency"], want["timeZone"], want["language"] = "daily", "Europe/Berlin", "de"
		require.Equal(t, want, got)
		require.Equal(t, want, ada.call(http.MethodPut, notificationsPath, object{}).want(200).body)
		want["language"] = nil
		require.Equal(t, want, ada.call(http.MethodPut, notificationsPath, object{"language": nil}).want(200).body)
		require.Equal(t, "immediate", bob.get(notificationsPath).want(200).body["frequency"])

		for member, bad := range map[string]object{
			"frequency": {"frequency": "hourly"}, "timeZone": {"timeZone": "Mars"}, "language": {"language": "xx"}, "events": {"events": "all"}, "events.signed": {"events": object{"signed": "yes"}},
		} {
			require.Contains(t, ada.call(http.MethodPut, notificationsPath, bad).rejected(400, "validation_error").body["errors"], member)
		}
		require.Equal(t, want, ada.get(notificationsPath).want(200).body)
		s.client(t).get(notificationsPath).rejected(403, "user_required")
		s.client(t).call(http.MethodPut, notificationsPath, object{}).rejected(403, "user_required")
	})
}

// TestUnsubscribe_EndsNotifications checks that a POST to the link in an email disables the user's notifications
// without a login, until the link expires.
func TestUnsubscribe_EndsNotifications(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		ada, bob, nobody := s.person(t, models.RoleSender), s.person(t, models.RoleSender), s.browser(t)
		frequency := func(c *client) any { return c.get(notificationsPath).want(200).body["frequency"] }
		user, err := s.store.User(t.Context(), uuid.MustParse(ada.me().want(200).body["user"].(object)["id"].(string)))
		require.NoError(t, err)
		issued := s.cfg.Now()
		token, err := s.cfg.Tokens.IssueUnsubscribe(user, issued)
		require.NoError(t, err)
		path := "/unsubscribe/" + token

		require.NotEqual(t, http.StatusNoContent, nobody.get(path).status)
		require.Equal(t, "immediate", frequency(ada), "mail programs open links on their own")
		for range 2 {
			nobody.send(http.MethodPost, path, "application/x-www-form-urlencoded", []byte("List-Unsubscribe=One-Click")).want(204)
		}
		ct, form := multipartBody(t, map[string]string{"List-Unsubscribe": "One-Click"}, nil)
		nobody.send(http.MethodPost, path, ct, form).want(204)
		require.Equal(t, "never", frequency(ada))
		require.Equal(t, "immediate", frequency(bob))
		ada.call(http.MethodPut, notificationsPath, object{"frequency": "immediate"}).want(200)

		for _, by := range []*client{nobody, nobody.with("Idempotency-Key", "large")} {
			by.send(http.MethodPost, path, "application/x-www-form-urlencoded", bytes.Repeat([]byte("x"), 8<<10+1)).rejected(413, "request_too_large")
		}
		require.Equal(t, "immediate", frequency(ada))

		for _, other := range []string{"x", token + "x", ada.token} {
			nobody.post("/unsubscribe/"+other, nil).rejected(401, "unsubscribe_link_invalid")
		}
		stranger := *user
		stranger.AppID = uuid.New()
		foreign, err := s.cfg.Tokens.IssueUnsubscribe(&stranger, issued)
		require.NoError(t, err)
		nobody.post("/unsubscribe/"+foreign, nil).rejected(401, "unsubscribe_link_invalid")
		require.Equal(t, "immediate", frequency(ada))
		late, err := s.cfg.Tokens.IssueUnsubscribe(user, issued.Add(-credential.UnsubscribeLifetime-time.Minute))
		require.NoError(t, err)
		nobody.post("/unsubscribe/"+late, nil).rejected(401, "unsubscribe_link_invalid")
		require.NoError(t, s.store.DisableUser(t.Context(), user.AppID, user.ID))
		nobody.post(path, nil).rejected(401, "unsubscribe_link_invalid")
	})
}
