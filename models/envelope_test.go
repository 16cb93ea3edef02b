package models_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

var start = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

func act(at time.Time) models.ActionContext {
	return models.ActionContext{At: at, Actor: models.ActorSystem, IP: "192.0.2.1", UserAgent: "test", NewID: uuid.New}
}

func signer(i, group int, method models.AuthMethod) models.SignerInput {
	return models.SignerInput{Name: fmt.Sprintf("Signer %d", i), Email: fmt.Sprintf("s%d@example.com", i), RoutingOrder: group, AuthMethod: method}
}

func page() models.DocumentInput {
	return models.DocumentInput{Document: models.Document{Name: "a.pdf", SHA256: "00", Size: 1000, PageCount: 2, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}}}
}

func field(ref string, typ models.FieldType) models.FieldInput {
	return models.FieldInput{SignerRef: ref, Type: typ, Page: 1, X: 10, Y: 20, W: 100, H: 30, Required: true, Origin: models.OriginTopLeft}
}

// draft returns an envelope with one signer for each routing group in groups, and a text field for each signer.
func draft(t require.TestingT, days *int, method models.AuthMethod, groups ...int) *models.Envelope {
	e, err := models.NewEnvelope(act(start), models.Envelope{AppID: uuid.New(), TenantID: "t1", CreatedBy: "me", ExpiresInDays: days})
	require.NoError(t, err)
	_, err = e.AddDocument(act(start), page(), 1)
	require.NoError(t, err)
	for i, g := range groups {
		s, err := e.AddSigner(act(start), signer(i, g, method))
		require.NoError(t, err)
		_, err = e.AddFields(act(start), []models.FieldInput{field(s.ID.String(), models.FieldText)}, models.IndexedPath)
		require.NoError(t, err)
	}
	return e
}

func sent(t require.TestingT, days *int, method models.AuthMethod, groups ...int) *models.Envelope {
	e := draft(t, days, method, groups...)
	require.NoError(t, e.Send(act(start), nil))
	return e
}

func link(e *models.Envelope, i int) models.Link {
	s := e.Signers[i]
	l := models.Link{EnvelopeID: e.ID, SignerID: s.ID}
	if s.LinkID != nil {
		l.ID = *s.LinkID
	}
	return l
}

func text(e *models.Envelope, i int, s string) models.Submission {
	for _, f := range e.Fields {
		if f.SignerID == e.Signers[i].ID {
			return models.Submission{Fields: []models.FieldSubmission{{FieldID: f.ID, Text: &s}}}
		}
	}
	return models.Submission{}
}

func signs(t require.TestingT, e *models.Envelope, i int, at time.Time) {
	_, err := e.Consent(act(at), link(e, i), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	_, err = e.Sign(act(at), link(e, i), text(e, i, "yes"))
	require.NoError(t, err)
}

func code(t *testing.T, err error) string {
	t.Helper()
	var rejection *models.Error
	require.ErrorAs(t, err, &rejection)
	return rejection.Code
}

func names(e *models.Envelope) []models.EventName {
	var out []models.EventName
	for _, ev := range e.Events {
		out = append(out, ev.Name)
	}
	return out
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	days := 3
	e := draft(t, &days, models.AuthNone, 1)
	assert.Equal(t, start.AddDate(0, 0, 3), *e.ExpiresAt)
	later := start.Add(48 * time.Hour)
	require.NoError(t, e.Send(act(later), nil))
	due := later.AddDate(0, 0, 3)
	assert.Equal(t, due, *e.ExpiresAt, "counted from the time of sending")
	assert.Equal(t, due, *e.LinkExpiry(e.Signers[0]), "no link outlives the deadline")
	require.ErrorContains(t, e.Expire(act(due.Add(-time.Microsecond))), "envelope_not_due")

	e = sent(t, &days, models.AuthNone, 1)
	_, err := e.Open(act(start.AddDate(0, 0, 3)), link(e, 0))
	assert.Equal(t, "signing_link_expired", code(t, err), "even before the timer has fired")
	require.NoError(t, e.Expire(act(start.AddDate(0, 0, 3))))
	assert.Equal(t, models.StatusExpired, e.Status)
	require.ErrorContains(t, e.Expire(act(start.AddDate(0, 0, 4))), "envelope_terminal")

	e = sent(t, nil, models.AuthNone, 1)
	assert.Nil(t, e.ExpiresAt)
	assert.Equal(t, start.Add(models.LinkLifetime), *e.Signers[0].LinkExpiresAt)
}

func TestCombinedHash(t *testing.T) {
	t.Parallel()
	one, two := &models.Document{SHA256: "aa"}, &models.Document{SHA256: "bb"}
	assert.Nil(t, models.CombineHashes(nil))
	assert.Equal(t, "aa", *models.CombineHashes([]*models.Document{one}))
	// Verified with: printf '%s%s' aa bb | sha256sum
	assert.Equal(t, sha256Hex("aabb"), *models.CombineHashes([]*models.Document{one, two}))
}

func ptr[T any](v T) *T { return &v }

// rejected returns the paths of the recorded problems.
func rejected(note func(p models.Problems)) []string {
	p := models.Problems{}
	note(p)
	out := []string{}
	for path := range p {
		out = append(out, path)
	}
	return out
}

// TestEnvelopes_AreBounded checks the limits of a request for an envelope.
func TestEnvelopes_AreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for name, tries := range map[string]map[bool][]models.Envelope{
		"expiresInDays": {
			true:  {{TenantID: "t", CreatedBy: "c", ExpiresInDays: ptr(1)}, {TenantID: "t", CreatedBy: "c", ExpiresInDays: ptr(3650)}, {TenantID: "t", CreatedBy: "c"}},
			false: {{TenantID: "t", CreatedBy: "c", ExpiresInDays: ptr(0)}, {TenantID: "t", CreatedBy: "c", ExpiresInDays: ptr(3651)}},
		},
		"tenantId":  {true: {{TenantID: long[1:], CreatedBy: "c"}}, false: {{TenantID: long, CreatedBy: "c"}, {CreatedBy: "c"}}},
		"createdBy": {true: {{TenantID: "t", CreatedBy: long[1:]}}, false: {{TenantID: "t", CreatedBy: long}, {TenantID: "t"}}},
		"subject": {
			true:  {{TenantID: "t", CreatedBy: "c", Subject: ptr(long[1:])}, {TenantID: "t", CreatedBy: "c", Subject: ptr("")}},
			false: {{TenantID: "t", CreatedBy: "c", Subject: &long}},
		},
	} {
		for _, in := range tries[true] {
			require.Empty(t, rejected(in.Check), name)
			e, err := models.NewEnvelope(act(start), in)
			require.NoError(t, err)
			require.Equal(t, models.OriginTopLeft, e.FieldOrigin)
			require.Equal(t, in.ExpiresInDays == nil, e.ExpiresAt == nil)
			require.Equal(t, []models.EventName{models.EventEnvelopeCreated}, names(e))
		}
		for _, in := range tries[false] {
			require.Equal(t, []string{name}, rejected(in.Check))
			_, err := models.NewEnvelope(act(start), in)
			require.Equal(t, "validation_error", code(t, err))
		}
	}
	noted := models.Problems{"tenantId": {"is noted"}, "createdBy": {"is noted"}}
	new(models.Envelope).Check(noted)
	require.Equal(t, models.Problems{"tenantId": {"is noted"}, "createdBy": {"is noted"}}, noted, "no problem is recorded twice")
	e, err := models.NewEnvelope(act(start), models.Envelope{TenantID: "t", CreatedBy: "c", FieldOrigin: models.OriginBottomLeft})
	require.NoError(t, err)
	require.Equal(t, models.OriginBottomLeft, e.FieldOrigin)
}
