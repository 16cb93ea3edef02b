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

// draft makes an envelope with a signer for each routing group given, and a
// text field each.
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
	var refusal *models.Error
	require.ErrorAs(t, err, &refusal)
	return refusal.Code
}

func names(e *models.Envelope) []models.EventName {
	var out []models.EventName
	for _, ev := range e.Events {
		out = append(out, ev.Name)
	}
	return out
}

func TestRoutingGroupsOpenOneAfterTheOther(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1, 2, 5)
	status := func() (out []models.SignerStatus) {
		for _, s := range e.Signers {
			out = append(out, s.Status)
		}
		return out
	}
	assert.Equal(t, []models.SignerStatus{"sent", "sent", "pending", "pending"}, status())
	_, err := e.Open(act(start), link(e, 2))
	assert.Equal(t, "signing_link_invalid", code(t, err), "a group that is not open has no links")
	signs(t, e, 1, start)
	assert.Equal(t, []models.SignerStatus{"sent", "signed", "pending", "pending"}, status())
	signs(t, e, 0, start)
	assert.Equal(t, []models.SignerStatus{"signed", "signed", "sent", "pending"}, status())
	signs(t, e, 2, start)
	assert.Equal(t, models.StatusInProgress, e.Status)
	signs(t, e, 3, start)
	assert.Equal(t, models.StatusSealing, e.Status)
	require.ErrorContains(t, e.Void(act(start), nil), "envelope_sealing")
	o := e.Originals()[0]
	require.NoError(t, e.Complete(act(start), []models.SealedFile{{OriginalID: o.ID, SHA256: "ff", PageCount: 3}}))
	assert.Equal(t, models.StatusCompleted, e.Status)
	assert.Equal(t, "ff", *e.HashFinal)
	assert.Len(t, e.Sealed(), 1)
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	days := 3
	e := draft(t, &days, models.AuthNone, 1)
	assert.Equal(t, start.AddDate(0, 0, 3), *e.ExpiresAt)
	later := start.Add(48 * time.Hour)
	require.NoError(t, e.Send(act(later), nil))
	due := later.AddDate(0, 0, 3)
	assert.Equal(t, due, *e.ExpiresAt, "counted from send")
	assert.Equal(t, due, *e.LinkEnds(e.Signers[0]), "no link outlives the deadline")
	require.ErrorContains(t, e.Expire(act(due.Add(-time.Microsecond))), "envelope_not_due")

	e = sent(t, &days, models.AuthNone, 1)
	_, err := e.Open(act(start.AddDate(0, 0, 3)), link(e, 0))
	assert.Equal(t, "signing_link_expired", code(t, err), "also before the timer has fired")
	require.NoError(t, e.Expire(act(start.AddDate(0, 0, 3))))
	assert.Equal(t, models.StatusExpired, e.Status)
	require.ErrorContains(t, e.Expire(act(start.AddDate(0, 0, 4))), "envelope_terminal")

	e = sent(t, nil, models.AuthNone, 1)
	assert.Nil(t, e.ExpiresAt)
	assert.Equal(t, start.Add(models.LinkLifetime), *e.Signers[0].LinkExpiresAt)
}

func TestOneTimeCodes(t *testing.T) {
	t.Parallel()
	right, wrong := []byte("right"), []byte("wrong")
	e := sent(t, nil, models.AuthEmailOTP, 1)
	l, at := link(e, 0), start
	_, err := e.Consent(act(at), l, new(models.Signer).Disclosure("en"))
	assert.Equal(t, "otp_required", code(t, err))
	verify := func(hash []byte) bool {
		ok, err := e.VerifyCode(act(at), l, hash, nil)
		require.NoError(t, err)
		return ok
	}
	assert.False(t, verify(right), "nothing was asked for")

	request := func() error { _, err := e.RequestCode(act(at), l, right); return err }
	require.NoError(t, request())
	at = at.Add(models.OTPLifetime)
	assert.False(t, verify(right), "dies after ten minutes")

	require.NoError(t, request())
	for range models.OTPTries {
		assert.False(t, verify(wrong))
	}
	assert.Equal(t, models.EventSignerOTPFailed, names(e)[len(e.Events)-1])
	n := len(e.Events)
	assert.False(t, verify(right), "burnt by the third wrong try")
	assert.Len(t, e.Events, n, "and told of once")

	require.NoError(t, request())
	assert.True(t, verify(right))
	assert.False(t, verify(right), "is good once")
	_, err = e.Consent(act(at), l, new(models.Signer).Disclosure("en"))
	require.NoError(t, err)

	for range models.OTPRequestLimit - 2 { // two were made in this window
		require.NoError(t, request())
	}
	err = request()
	assert.Equal(t, "otp_rate_limited", code(t, err))
	var refusal *models.Error
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, models.OTPRequestWindow, refusal.RetryAfter)
	at = at.Add(models.OTPRequestWindow)
	require.NoError(t, request())
}

func TestGuessingOnAndOnIsEnded(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	at := start
	tries := 0
	for ; tries < 1000; tries++ {
		if _, err := e.RequestCode(act(at), link(e, 0), []byte("right")); err != nil {
			assert.Equal(t, "otp_locked", code(t, err))
			break
		}
		for range models.OTPTries {
			_, err := e.VerifyCode(act(at), link(e, 0), []byte("wrong"), nil)
			require.NoError(t, err)
		}
		at = at.Add(models.OTPRequestWindow)
	}
	assert.Equal(t, models.OTPWrongLimit/models.OTPTries, tries)
	require.NoError(t, e.RenewLink(act(at), e.Signers[0].ID))
	_, err := e.RequestCode(act(at), link(e, 0), []byte("right"))
	require.NoError(t, err, "a new link is a new start")
}

func TestANewLinkEndsTheOldOne(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	old := link(e, 0)
	_, err := e.RequestCode(act(start), old, []byte("right"))
	require.NoError(t, err)
	require.NoError(t, e.RenewLink(act(start), e.Signers[0].ID))
	_, err = e.Open(act(start), old)
	assert.Equal(t, "signing_link_invalid", code(t, err))
	ok, err := e.VerifyCode(act(start), link(e, 0), []byte("right"), nil)
	require.NoError(t, err)
	assert.False(t, ok, "the old link's code is worth nothing on the new one")
}

func TestSpentLinks(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1)
	signs(t, e, 0, start)
	l := link(e, 0)
	_, err := e.Reader(l, start, true)
	assert.Equal(t, "signing_link_used", code(t, err))
	_, err = e.Reader(l, start, false)
	assert.Equal(t, "signing_link_invalid", code(t, err))
	_, err = e.Consent(act(start), l, new(models.Signer).Disclosure("en"))
	assert.Equal(t, "consent_given", code(t, err))
	_, err = e.Sign(act(start), l, models.Submission{})
	assert.Equal(t, "already_signed", code(t, err))
	_, err = e.Decline(act(start), l, nil, false)
	assert.Equal(t, "already_signed_or_declined", code(t, err))

	why := "no"
	_, err = e.Decline(act(start), link(e, 1), &why, false)
	require.NoError(t, err)
	assert.Equal(t, models.StatusDeclined, e.Status)
	_, err = e.Decline(act(start), link(e, 1), nil, false)
	assert.Equal(t, "already_signed_or_declined", code(t, err))
	_, err = e.Sign(act(start), link(e, 1), models.Submission{})
	assert.Equal(t, "already_declined", code(t, err))
}

func TestSubmittedValues(t *testing.T) {
	t.Parallel()
	png := []byte("png")
	str := func(s string) *string { return &s }
	for _, c := range []struct {
		name     string
		typ      models.FieldType
		optional bool
		in       *models.FieldSubmission
		want     string // the value kept; "-" for none
		problem  string // part of the path that is refused
	}{
		{"text", models.FieldText, false, &models.FieldSubmission{Text: str("Ada")}, "Ada", ""},
		{"text of two lines", models.FieldText, false, &models.FieldSubmission{Text: str("a\nb")}, "a\nb", ""},
		{"text missing", models.FieldText, false, nil, "", "fields"},
		{"text empty", models.FieldText, false, &models.FieldSubmission{Text: str(" ")}, "", "textValue"},
		{"text control", models.FieldText, false, &models.FieldSubmission{Text: str("a\x00")}, "", "textValue"},
		{"text override", models.FieldText, false, &models.FieldSubmission{Text: str("a\u202eb")}, "", "textValue"},
		{"text too long", models.FieldText, false, &models.FieldSubmission{Text: str(string(make([]rune, 0)) + fmt.Sprintf("%02001d", 0))}, "", "textValue"},
		{"text as image", models.FieldText, false, &models.FieldSubmission{Image: png}, "", "signatureImageBase64"},
		{"optional text missing", models.FieldText, true, nil, "-", ""},
		{"optional text null", models.FieldText, true, &models.FieldSubmission{}, "-", ""},
		{"date", models.FieldDate, false, &models.FieldSubmission{Text: str("2026-11-21")}, "2026-11-21", ""},
		{"date in words", models.FieldDate, false, &models.FieldSubmission{Text: str("21 November 2026")}, "21 November 2026", ""},
		{"no date", models.FieldDate, false, &models.FieldSubmission{Text: str("soon")}, "", "textValue"},
		{"impossible date", models.FieldDate, false, &models.FieldSubmission{Text: str("2026-02-30")}, "", "textValue"},
		{"checked", models.FieldCheckbox, false, &models.FieldSubmission{Text: str("true")}, "true", ""},
		{"unchecked", models.FieldCheckbox, false, &models.FieldSubmission{Text: str("false")}, "", "textValue"},
		{"optional unchecked", models.FieldCheckbox, true, &models.FieldSubmission{Text: str("false")}, "false", ""},
		{"neither", models.FieldCheckbox, true, &models.FieldSubmission{Text: str("maybe")}, "", "textValue"},
		{"signature", models.FieldSignature, false, &models.FieldSubmission{Image: png}, "png", ""},
		{"signature null", models.FieldSignature, false, &models.FieldSubmission{}, "", "signatureImageBase64"},
		{"signature as text", models.FieldSignature, false, &models.FieldSubmission{Text: str("Ada")}, "", "textValue"},
		{"optional initial null", models.FieldInitial, true, &models.FieldSubmission{}, "-", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := draft(t, nil, models.AuthNone)
			s, err := e.AddSigner(act(start), signer(0, 1, models.AuthNone))
			require.NoError(t, err)
			in := field("0", c.typ)
			in.Required = !c.optional
			fields, err := e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
			require.NoError(t, err)
			require.NoError(t, e.Send(act(start), nil))
			_, err = e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
			require.NoError(t, err)
			var sub models.Submission
			if c.in != nil {
				c.in.FieldID = fields[0].ID
				sub.Fields = []models.FieldSubmission{*c.in}
			}
			_, err = e.Sign(act(start), link(e, 0), sub)
			if c.problem != "" {
				var refusal *models.Error
				require.ErrorAs(t, err, &refusal)
				assert.Equal(t, "validation_error", refusal.Code)
				assert.Contains(t, fmt.Sprint(refusal.Fields), c.problem)
				assert.NotEqual(t, models.SignerSigned, s.Status)
				return
			}
			require.NoError(t, err)
			if c.want == "-" {
				assert.Empty(t, e.Values)
				return
			}
			require.Len(t, e.Values, 1)
			assert.Equal(t, c.want, e.Values[0].Text+string(e.Values[0].Image))
		})
	}
}

func TestFieldsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1)
	_, err := e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	_, err = e.Sign(act(start), link(e, 0), text(e, 1, "mine now"))
	assert.Equal(t, "validation_error", code(t, err))
	own := text(e, 0, "twice")
	own.Fields = append(own.Fields, own.Fields[0])
	_, err = e.Sign(act(start), link(e, 0), own)
	assert.Equal(t, "validation_error", code(t, err))
	assert.Empty(t, e.Values)
}

func TestPlacingFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*models.FieldInput)
		y    float64
		bad  string
	}{
		{"as it is", func(*models.FieldInput) {}, 20, ""},
		{"from the bottom", func(f *models.FieldInput) { f.Origin = models.OriginBottomLeft }, 842 - 20 - 30, ""},
		{"over the right edge", func(f *models.FieldInput) { f.X = 500 }, 0, "x"},
		{"over the bottom edge", func(f *models.FieldInput) { f.Y = 830 }, 0, "x"},
		{"rounded page size", func(f *models.FieldInput) { f.W = 585.4 }, 20, ""},
		{"negative", func(f *models.FieldInput) { f.Y = -5 }, 0, "y"},
		{"no width", func(f *models.FieldInput) { f.W = 0 }, 0, "w"},
		{"page 0", func(f *models.FieldInput) { f.Page = 0 }, 0, "page"},
		{"page 3 of 2", func(f *models.FieldInput) { f.Page = 3 }, 0, "page"},
		{"unknown type", func(f *models.FieldInput) { f.Type = "seal" }, 0, "type"},
		{"unknown signer", func(f *models.FieldInput) { f.SignerRef = "7" }, 0, "signerId"},
		{"by e-mail", func(f *models.FieldInput) { f.SignerRef = "S0@Example.com" }, 20, ""},
		{"unknown origin", func(f *models.FieldInput) { f.Origin = "middle" }, 0, "origin"},
		{"other document", func(f *models.FieldInput) { id := uuid.New(); f.DocumentID = &id }, 0, "documentId"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, before := range []bool{false, true} { // the document may come before or after the field
				e := draft(t, nil, models.AuthNone, 1)
				if before {
					fresh, err := models.NewEnvelope(act(start), models.Envelope{AppID: uuid.New(), TenantID: "t", CreatedBy: "me"})
					require.NoError(t, err)
					_, err = fresh.AddSigner(act(start), signer(0, 1, models.AuthNone))
					require.NoError(t, err)
					e = fresh
				}
				in := field("0", models.FieldText)
				c.edit(&in)
				fields, err := e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
				if err == nil && before {
					_, err = e.AddDocument(act(start), page(), 1)
				}
				if c.bad != "" {
					var refusal *models.Error
					require.ErrorAs(t, err, &refusal)
					assert.Contains(t, fmt.Sprint(refusal.Fields), c.bad)
					continue
				}
				require.NoError(t, err)
				assert.InDelta(t, c.y, fields[0].Y, 1e-9)
				assert.Equal(t, models.OriginTopLeft, fields[0].Origin)
				assert.Equal(t, e.Originals()[0].ID, fields[0].DocumentID)
			}
		})
	}
}

func TestCombinedHash(t *testing.T) {
	t.Parallel()
	one, two := &models.Document{SHA256: "aa"}, &models.Document{SHA256: "bb"}
	assert.Nil(t, models.CombineHashes(nil))
	assert.Equal(t, "aa", *models.CombineHashes([]*models.Document{one}))
	// printf '%s%s' aa bb | sha256sum
	assert.Equal(t, sha256Hex("aabb"), *models.CombineHashes([]*models.Document{one, two}))
}

func TestPlanLimitsDocuments(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	_, err := e.AddDocument(act(start), page(), 1)
	assert.Equal(t, "plan_documents", code(t, err))
	_, err = e.AddDocument(act(start), page(), 2)
	require.NoError(t, err)
	assert.Equal(t, 2, e.Originals()[1].Order)
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	for subject, want := range map[string]string{
		"Contract": "Contract.pdf", "../../etc/passwd": "_.._etc_passwd.pdf", "  ": "a.pdf", "Vertrag für Łukasz": "Vertrag für Łukasz.pdf",
		"a\u202egpj.exe": "a_gpj.exe.pdf", "x.pdf": "x.pdf",
	} {
		e.Subject = &subject
		assert.Equal(t, want, e.FileName(e.Originals()[0]))
	}
}

// Several documents are told apart by their own names, wherever people see them.
func TestFileNamesOfSeveralDocuments(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	for i, name := range []string{"nda.pdf", "Floor plan.PDF", "nda.pdf", "document.pdf", strings.Repeat("ü", 200) + ".pdf"} {
		in := page()
		in.Name = name
		if i == 0 {
			e.Originals()[0].Name = name
			continue
		}
		_, err := e.AddDocument(act(start), in, 9)
		require.NoError(t, err)
	}
	names := func(of func(*models.Document) string) (out []string) {
		for _, d := range e.Originals() {
			out = append(out, of(d))
		}
		return out
	}
	own := []string{"nda (1).pdf", "Floor plan.pdf", "nda (3).pdf", "document.pdf", strings.Repeat("ü", 100) + ".pdf"}
	e.Subject = nil
	assert.Equal(t, own, names(e.DocumentName))
	assert.Equal(t, own, names(e.FileName), "without a subject a file keeps its name")
	subject := "Lease"
	e.Subject = &subject
	assert.Equal(t, own, names(e.DocumentName))
	assert.Equal(t, []string{
		"Lease (1) nda.pdf", "Lease (2) Floor plan.pdf", "Lease (3) nda.pdf", "Lease (4).pdf", "Lease (5) " + strings.Repeat("ü", 60) + ".pdf",
	}, names(e.FileName))
	sealed := *e.Originals()[1]
	sealed.ID, sealed.Kind = uuid.New(), models.DocumentSealed
	e.Documents = append(e.Documents, &sealed)
	assert.Equal(t, "Lease (2) Floor plan.pdf", e.FileName(&sealed))
	assert.Equal(t, "Floor plan.pdf", e.DocumentName(&sealed))
}
