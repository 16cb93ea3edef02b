package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSettings_TakeEffect(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.call(http.MethodPut, "/v1/console/settings", object{"fieldOrigin": "bottom-left", "senderName": "Acme Legal"}).want(200)
		a := c.call(http.MethodPut, "/v1/console/settings?tenantId=acme", object{"defaultExpiryDays": 3, "retentionDays": 30}).want(200)
		eff := a.body["effective"].(object)
		require.EqualValues(t, 3, eff["defaultExpiryDays"])
		require.Equal(t, "bottom-left", eff["fieldOrigin"])
		require.Equal(t, "Acme Legal", eff["senderName"])
		require.EqualValues(t, 72, eff["reminderIntervalHours"])
		require.Nil(t, a.body["own"].(object)["senderName"])

		e, token := c.sent(contract())
		until, err := time.Parse(time.RFC3339, e.str("expiresAt"))
		require.NoError(t, err)
		require.WithinDuration(t, s.clock.now().AddDate(0, 0, 3), until, time.Minute)
		require.InDelta(t, 842-50-20, e.field(0)["y"], 0.01, "measured from the bottom")
		require.Equal(t, "Acme Legal", c.get("/v1/signing/"+token).want(200).str("senderName"))

		data := contract()
		data["expiresInDays"] = nil
		require.Nil(t, c.draft(data).body["expiresAt"], "null means no deadline")
		c.call(http.MethodPut, "/v1/console/settings?tenantId=acme", object{"defaultExpiryDays": 0}).rejected(400, "validation_error")
		limited := s.other(t, "only")
		limited.get("/v1/console/settings?tenantId=acme").rejected(403, "tenant_forbidden")
		limited.get("/v1/console/settings").rejected(403, "tenant_forbidden")
		limited.get("/v1/console/settings?tenantId=only").want(200)
	})
}

// TestSettings_ChangeOnlyNamedMembers checks that updating some settings does not reset other settings.
func TestSettings_ChangeOnlyNamedMembers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		put := func(path string, v object) object {
			own, _ := c.call(http.MethodPut, "/v1/console/settings"+path, v).want(200).body["own"].(object)
			return own
		}
		all := object{
			"defaultExpiryDays": 3., "reminderIntervalHours": 0., "retentionDays": 30., "fieldOrigin": "bottom-left", "senderName": "Legal",
			"language": "de", "replyTo": "office@acme.example", "notifyEmail": "ops@acme.example",
		}
		for _, path := range []string{"", "?tenantId=acme"} {
			require.Equal(t, all, put(path, all))
			require.Equal(t, all, put(path, object{}))
		}
		changed := maps.Clone(all)
		for name, v := range map[string]any{"senderName": nil, "defaultExpiryDays": 9., "replyTo": "else@acme.example", "notifyEmail": nil} {
			changed[name] = v
			require.Equal(t, changed, put("?tenantId=acme", object{name: v}), name)
		}
		require.Equal(t, changed, c.get("/v1/console/settings?tenantId=acme").want(200).body["own"])
		require.Equal(t, all, c.get("/v1/console/settings").want(200).body["own"], "the app's settings do not change")
		effective, _ := c.get("/v1/console/settings?tenantId=acme").want(200).body["effective"].(object)
		require.Equal(t, "Legal", effective["senderName"], "reset: the app's setting applies")
		for name := range all {
			changed[name] = nil
			require.Equal(t, changed, put("?tenantId=acme", object{name: nil}), name)
		}
		c.call(http.MethodPut, "/v1/console/settings?tenantId=acme", object{"language": "de", "replyTo": "nobody"}).rejected(400, "validation_error")
		require.Equal(t, changed, c.get("/v1/console/settings?tenantId=acme").want(200).body["own"], "all or nothing")
	})
}

// TestSettings_OfMails checks that a tenant can set the language and reply address of its emails, and the contact for
// problems.
func TestSettings_OfMails(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		put := func(v object) *response {
			b, err := json.Marshal(v)
			require.NoError(t, err)
			return c.send(http.MethodPut, "/v1/console/settings?tenantId=acme", "application/json", b)
		}
		require.Equal(t, "en", c.get("/v1/console/settings?tenantId=acme").want(200).body["effective"].(object)["language"])
		chosen := object{"language": "ja", "replyTo": "office@acme.example", "notifyEmail": "ops@acme.example", "senderName": "Acme"}
		own := put(chosen).want(200).body["own"].(object)
		for k, v := range chosen {
			require.Equal(t, v, own[k], k)
		}
		for k, v := range map[string]any{"language": "tlh", "replyTo": "nobody", "notifyEmail": "a\u200bb@example.com"} {
			require.Contains(t, put(object{k: v}).rejected(400, "validation_error").body["errors"], k)
		}
		data := contract()
		data["signers"] = []object{{"name": "Ada", "email": "ada@example.com"}}
		_, token := c.sent(data)
		(&client{t: t, s: s}).post("/v1/signing/"+token+"/otp/request", nil).want(200)
		mail := s.mails.mails[len(s.mails.mails)-1]
		require.Contains(t, mail.Subject, "確認コード")
		require.Equal(t, "Acme", mail.FromName)
		require.Equal(t, "office@acme.example", mail.ReplyTo)
	})
}
