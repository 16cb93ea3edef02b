package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

// The enumeration values of the original API.
var (
	knownEnvelopeStates = []string{"draft", "sent", "in_progress", "completed", "declined", "voided", "expired"}
	knownSignerStates   = []string{"pending", "sent", "viewed", "signed", "declined"}
	knownAuthMethods    = []string{"email_otp", "sms_otp", "none"}
	knownFieldTypes     = []string{"signature", "initial", "date", "text", "checkbox"}
	knownDocumentKinds  = []string{"original", "sealed"}
	knownPurgeStates    = []string{"active", "purged"}
	knownEvents         = []string{
		"envelope.created", "envelope.sent", "envelope.completed", "envelope.declined", "envelope.voided", "envelope.expired",
		"signer.viewed", "signer.signed", "signer.declined", "signer.otp_failed",
	}
)

// strictEnvelope is an envelope as decoded by a strict client, which ignores unknown members.
type strictEnvelope struct {
	ID        uuid.UUID `json:"id"`
	TenantID  string    `json:"tenantId"`
	Status    string    `json:"status"`
	Documents []struct {
		Kind, PurgeStatus, MimeType, SHA256 string
		PageCount                           int
	} `json:"documents"`
	Signers []struct {
		ID                                     uuid.UUID
		Name, Email, Status, AuthMethod        string
		RoutingOrder                           int
		Phone, SigningURL, SignedAt, DeclineAt *string
	} `json:"signers"`
	Fields []struct {
		ID, SignerID, DocumentID uuid.UUID
		Type                     string
		Page                     int
		X, Y, W, H               float64
		Required                 bool
	} `json:"fields"`
	AuditLog []struct {
		Event, Actor string
		Detail       map[string]any
	} `json:"auditLog"`
}

func (v strictEnvelope) check(t *testing.T) {
	t.Helper()
	require.Contains(t, knownEnvelopeStates, v.Status)
	for _, s := range v.Signers {
		require.Contains(t, knownSignerStates, s.Status)
		require.Contains(t, knownAuthMethods, s.AuthMethod)
	}
	for _, f := range v.Fields {
		require.Contains(t, knownFieldTypes, f.Type)
	}
	for _, d := range v.Documents {
		require.Contains(t, knownDocumentKinds, d.Kind)
		require.Contains(t, knownPurgeStates, d.PurgeStatus)
	}
}

func strictly[T any](t *testing.T, a *response) (out T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.raw, &out), "%s", a.raw)
	return out
}

// TestOriginalAPIClient_IgnoresLaterAdditions runs a client that knows only the original API, while other envelopes of
// the same app use every later addition.
func TestOriginalAPIClient_IgnoresLaterAdditions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/strict", "events": knownEvents}).want(201)

		// The other envelopes use every field type, every kind of recipient, corrections, and edits of a draft. Another
		// webhook receives the values.
		c.post("/v1/webhooks", object{"url": "https://example.com/modern", "events": models.WebhookEvents, "include": []string{"values"}}).want(201)
		modern := everyType()
		modern["externalId"], modern["metadata"] = "X-1", object{"case": "7"}
		typed, _ := c.sent(modern)
		kinds := c.create(everyKind()).want(201)
		c.patch("/v1/envelopes/"+kinds.str("id"), object{"subject": "Edited", "reminderHours": 5}).want(200)
		c.post("/v1/envelopes/"+kinds.str("id")+"/send", nil).want(200)
		c.post("/v1/envelopes/"+typed.str("id")+"/signers/"+fmt.Sprint(typed.signer(1)["id"])+"/replace", object{"name": "New", "email": "new@example.com"}).want(200)
		c.patch("/v1/envelopes/"+typed.str("id"), object{"reminderHours": 7}).want(200)

		data := twoSigners()
		data["tenantId"] = "strict"
		e, _ := c.sent(data)
		at := "/v1/envelopes/" + e.str("id")
		strictly[strictEnvelope](t, e).check(t)
		for i := range 3 {
			link := s.link(t, e, i)
			nobody.get(link).want(200)
			code := nobody.code(link)
			require.JSONEq(t, `{"verified": true}`, string(nobody.post(link+"/otp/verify", object{"code": code}).want(200).raw))
			nobody.post(link+"/consent", nil).want(200)
			ctx := strictly[struct {
				EnvelopeID, SignerID                 uuid.UUID
				SignerName, SignerEmail              string
				RequiresOTPVerification, OTPVerified bool
				Fields                               []struct {
					ID   uuid.UUID
					Type string
				}
			}](t, nobody.get(link).want(200))
			fields := []object{}
			for _, f := range ctx.Fields {
				require.Contains(t, knownFieldTypes, f.Type)
				if f.Type == "text" {
					fields = append(fields, object{"fieldId": f.ID, "textValue": "yes", "signatureImageBase64": nil})
				}
			}
			nobody.post(link+"/sign", object{"fields": fields, "fontLabel": nil}).want(200)
			strictly[strictEnvelope](t, c.get(at).want(200)).check(t)
		}
		s.completes(t, e.str("id"), 0)
		done := strictly[strictEnvelope](t, c.get(at).want(200))
		done.check(t)
		require.Equal(t, "completed", done.Status)
		require.Len(t, done.Documents, 2)
		list := strictly[struct {
			Data                  []strictEnvelope
			Total, Page, PageSize int
		}](t, c.get("/v1/envelopes?tenantId=strict&status=completed&page=1&pageSize=100").want(200))
		require.Equal(t, []int{1, 1, 100, 1}, []int{list.Total, list.Page, list.PageSize, len(list.Data)})
		list.Data[0].check(t)

		// The strict client's webhook receives the events of all envelopes of the app, in the original format.
		deliveries, _, err := s.store.Deliveries(t.Context(), store.DeliveryFilter{App: s.app.ID, Webhook: uuid.MustParse(hook.str("id")), Page: 1, Size: 100})
		require.NoError(t, err)
		about := map[string]bool{}
		for _, d := range deliveries {
			job, err := s.store.DeliveryJob(t.Context(), d.ID)
			require.NoError(t, err)
			require.Len(t, job.Secrets, 1, "one signature")
			var body struct {
				Event string
				Data  struct {
					EnvelopeID string
					Status     string
					Signers    []struct{ Status string }
					Values     map[string]any
				}
			}
			require.NoError(t, json.Unmarshal(job.Event.Body, &body))
			require.Contains(t, knownEvents, body.Event)
			require.Contains(t, knownEnvelopeStates, body.Data.Status)
			require.Nil(t, body.Data.Values)
			for _, signer := range body.Data.Signers {
				require.Contains(t, knownSignerStates, signer.Status)
			}
			about[body.Data.EnvelopeID] = true
		}
		for _, other := range []*response{e, typed, kinds} {
			require.True(t, about[other.str("id")])
		}
		require.True(t, slices.ContainsFunc(deliveries, func(d models.Delivery) bool { return d.Event == models.EventEnvelopeCompleted }))
		listed := strictly[[]struct {
			ID     uuid.UUID
			Events []string
			Active bool
		}](t, c.get("/v1/webhooks").want(200))
		require.Len(t, listed, 2)
	})
}
