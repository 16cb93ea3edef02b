package models_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// signature returns an envelope whose only signer must draw a signature, and a submission with the signature.
func signature(t *testing.T, method models.AuthMethod) (*models.Envelope, models.Submission) {
	t.Helper()
	e := draft(t, nil, method)
	s, err := e.AddSigner(act(start), signer(0, 1, method))
	require.NoError(t, err)
	fields, err := e.AddFields(act(start), []models.FieldInput{field(s.ID.String(), models.FieldSignature)}, models.NoPrefix)
	require.NoError(t, err)
	require.NoError(t, e.Send(act(start), nil))
	if method != models.AuthNone {
		_, err = e.RequestCode(act(start), link(e, 0), []byte("right"))
		require.NoError(t, err)
		ok, err := e.VerifyCode(act(start), link(e, 0), []byte("right"), nil)
		require.NoError(t, err)
		require.True(t, ok)
	}
	_, err = e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	return e, models.Submission{Fields: []models.FieldSubmission{{FieldID: fields[0].ID, Image: []byte("a picture")}}}
}

// TestSaveSignature_RequiresVerification checks that a signature is saved for reuse only if the signer entered a code.
func TestSaveSignature_RequiresVerification(t *testing.T) {
	t.Parallel()
	e, sub := signature(t, models.AuthNone)
	_, err := e.Sign(act(start), link(e, 0), sub)
	require.NoError(t, err)
	assert.Nil(t, e.Adopted, "any client with the link")

	e, sub = signature(t, models.AuthEmailOTP)
	_, err = e.Sign(act(start), link(e, 0), sub)
	require.NoError(t, err)
	require.NotNil(t, e.Adopted)
	assert.Equal(t, models.SavedSignature{
		AppID: e.AppID, TenantID: "t1", AuthMethod: models.AuthEmailOTP, Email: "s0@example.com", Image: []byte("a picture"), UpdatedAt: start,
	}, *e.Adopted)
}

// TestAuditTrail_CoversPictures checks that the audit trail covers pictures as well as texts.
func TestAuditTrail_CoversPictures(t *testing.T) {
	t.Parallel()
	e, sub := signature(t, models.AuthNone)
	s, err := e.Sign(act(start), link(e, 0), sub)
	require.NoError(t, err)
	picture := sha256.Sum256([]byte("a picture"))
	all := sha256.Sum256(fmt.Appendf(nil, "%s %s\n", e.Fields[0].ID, hex.EncodeToString(picture[:])))
	assert.Equal(t, hex.EncodeToString(all[:]), s.ValuesHash)
	assert.Equal(t, hex.EncodeToString(picture[:]), e.Values[0].ImageSHA256)
	last := e.Events[len(e.Events)-1]
	for i := range e.Events {
		if e.Events[i].Name == models.EventSignerSigned {
			last = e.Events[i]
		}
	}
	assert.Equal(t, s.ValuesHash, last.Detail["valuesSha256"])
}

// consented returns an envelope whose only signer has consented and has optional fields of the given types.
func consented(t *testing.T, types ...models.FieldType) *models.Envelope {
	t.Helper()
	e := draft(t, nil, models.AuthEmailOTP)
	_, err := e.AddSigner(act(start), signer(0, 1, models.AuthEmailOTP))
	require.NoError(t, err)
	for _, typ := range types {
		in := field("0", typ)
		in.Required = false
		_, err = e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
		require.NoError(t, err)
	}
	require.NoError(t, e.Send(act(start), nil))
	_, err = e.RequestCode(act(start), link(e, 0), []byte("right"))
	require.NoError(t, err)
	_, err = e.VerifyCode(act(start), link(e, 0), []byte("right"), nil)
	require.NoError(t, err)
	_, err = e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	return e
}

func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	var rejection *models.Error
	require.ErrorAs(t, err, &rejection)
	require.Equal(t, "validation_error", rejection.Code)
	var paths []string
	for path := range rejection.Fields {
		paths = append(paths, path)
	}
	return paths
}

// TestOmittedOptionalField_HasNoValue checks that an omitted optional field has no value.
func TestOmittedOptionalField_HasNoValue(t *testing.T) {
	t.Parallel()
	empty := ""
	for _, text := range []*string{nil, &empty} {
		for _, typ := range []models.FieldType{models.FieldText, models.FieldDate, models.FieldCheckbox, models.FieldSignature, models.FieldInitial} {
			e := consented(t, typ)
			_, err := e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Text: text}}})
			require.NoError(t, err, typ)
			assert.Empty(t, e.Values, typ)
			assert.Nil(t, e.Adopted, typ)
		}
	}
}

// TestPictureWithEmptyText_IsAccepted checks that a picture is accepted together with an empty text, because forms
// submit both.
func TestPictureWithEmptyText_IsAccepted(t *testing.T) {
	t.Parallel()
	e, empty := consented(t, models.FieldSignature), ""
	_, err := e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Text: &empty, Image: []byte("png")}}})
	require.NoError(t, err)
	assert.Equal(t, "png", string(e.Values[0].Image))
}

// TestEmptyRequiredField_IsReportedOnce checks that a required field with an empty value results in one problem, not
// two.
func TestEmptyRequiredField_IsReportedOnce(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	_, err := e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	_, err = e.Sign(act(start), link(e, 0), text(e, 0, " "))
	assert.Equal(t, []string{"fields[0].textValue"}, problemsOf(t, err))
	_, err = e.Sign(act(start), link(e, 0), models.Submission{})
	assert.Equal(t, []string{"fields"}, problemsOf(t, err))
}

// TestFontName_IsBounded checks that the name of a font is a single line of limited length.
func TestFontName_IsBounded(t *testing.T) {
	t.Parallel()
	for label, ok := range map[string]bool{
		"": true, "Courier Hand": true, strings.Repeat("é", 100): true, strings.Repeat("é", 101): false, "a\nb": false,
	} {
		e := consented(t, models.FieldText)
		_, err := e.Sign(act(start), link(e, 0), models.Submission{FontLabel: &label})
		if ok {
			require.NoError(t, err, label)
			continue
		}
		assert.Equal(t, []string{"fontLabel"}, problemsOf(t, err), label)
	}
}

// TestSign_StoresTheFirstSignature checks that the signer's first signature is saved for reuse, rather than another
// picture or text.
func TestSign_StoresTheFirstSignature(t *testing.T) {
	t.Parallel()
	e := consented(t, models.FieldInitial, models.FieldText, models.FieldSignature, models.FieldSignature)
	words := "words"
	_, err := e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{
		{FieldID: e.Fields[0].ID, Image: []byte("initials")},
		{FieldID: e.Fields[1].ID, Text: &words},
		{FieldID: e.Fields[3].ID, Image: []byte("another")},
		{FieldID: e.Fields[2].ID, Image: []byte("signature")},
	}})
	require.NoError(t, err)
	assert.Equal(t, "signature", string(e.Adopted.Image))
	require.Len(t, e.Values, 4)
	for _, v := range e.Values {
		assert.Equal(t, start, v.CreatedAt)
		assert.Equal(t, e.ID, v.EnvelopeID)
		assert.Equal(t, e.Signers[0].ID, v.SignerID)
		assert.Equal(t, v.Image != nil, v.ImageSHA256 != "", "only an image is identified by its hash")
	}

	// Initials are not a signature.
	e = consented(t, models.FieldInitial, models.FieldSignature)
	_, err = e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Image: []byte("initials")}}})
	require.NoError(t, err)
	assert.Nil(t, e.Adopted)
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
		want     string // the stored value, or "-" for none
		problem  string // substring of the rejected path, or ""
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
				var rejection *models.Error
				require.ErrorAs(t, err, &rejection)
				assert.Equal(t, "validation_error", rejection.Code)
				assert.Contains(t, fmt.Sprint(rejection.Fields), c.problem)
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

func TestFieldsOfOtherSigners_AreRejected(t *testing.T) {
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
