package models_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// consented is an envelope whose one signer is to fill fields of these types, none
// of them required, and has consented.
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

// problemsOf are the paths of a validation_error.
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	var refusal *models.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "validation_error", refusal.Code)
	var paths []string
	for path := range refusal.Fields {
		paths = append(paths, path)
	}
	return paths
}

// TestFieldsThatStayEmpty: what is optional and was not given has no value.
func TestFieldsThatStayEmpty(t *testing.T) {
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

// TestAPictureMayComeWithAnEmptyText: as forms send it.
func TestAPictureMayComeWithAnEmptyText(t *testing.T) {
	t.Parallel()
	e, empty := consented(t, models.FieldSignature), ""
	_, err := e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Text: &empty, Image: []byte("png")}}})
	require.NoError(t, err)
	assert.Equal(t, "png", string(e.Values[0].Image))
}

// TestAValueIsNamedOnce: a required field that was sent empty is not reported as
// missing as well.
func TestAValueIsNamedOnce(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	_, err := e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	_, err = e.Sign(act(start), link(e, 0), text(e, 0, " "))
	assert.Equal(t, []string{"fields[0].textValue"}, problemsOf(t, err))
	_, err = e.Sign(act(start), link(e, 0), models.Submission{})
	assert.Equal(t, []string{"fields"}, problemsOf(t, err))
}

// TestTheNameOfAFontIsBounded: and is one line.
func TestTheNameOfAFontIsBounded(t *testing.T) {
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

// TestWhatIsKeptOfASignature: the first signature of this signer, and no other
// picture or text, is offered to the person again; values bear the time of the
// signature.
func TestWhatIsKeptOfASignature(t *testing.T) {
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
		assert.Equal(t, v.Image != nil, v.ImageSHA256 != "", "only a picture is named by its hash")
	}

	// Initials alone are no signature.
	e = consented(t, models.FieldInitial, models.FieldSignature)
	_, err = e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Image: []byte("initials")}}})
	require.NoError(t, err)
	assert.Nil(t, e.Adopted)
}

// TestSharedAddress: a field for an address that two signers have is refused by that reason.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	again := signer(0, 1, models.AuthNone)
	_, err := e.AddSigner(act(start), again)
	require.NoError(t, err)
	in := field(again.Email, models.FieldText)
	_, err = e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
	require.ErrorContains(t, err, "e-mail address of two signers")
	p := models.Problems{}
	in.Check(p, "", []models.SignerInput{again, again})
	require.ErrorContains(t, p.Err(), "e-mail address of two signers")
	p = models.Problems{}
	in.SignerRef = "-2"
	in.Check(p, "", []models.SignerInput{again, again})
	require.ErrorContains(t, p.Err(), "names no signer")
}

// TestWhereAFieldMayBe: each number is refused by its name, and in words that fit.
func TestWhereAFieldMayBe(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	zero := 0.0
	for _, c := range []struct {
		edit func(*models.FieldInput)
		path string
		says string
	}{
		{func(f *models.FieldInput) { f.X = -0.6 }, "x", "must be 0 or more"},
		{func(f *models.FieldInput) { f.Y = -0.6 }, "y", "must be 0 or more"},
		{func(f *models.FieldInput) { f.W = -5 }, "w", "must be more than 0"},
		{func(f *models.FieldInput) { f.H = -5 }, "h", "must be more than 0"},
		{func(f *models.FieldInput) { f.W = 0 }, "w", "must be more than 0"},
		{func(f *models.FieldInput) { f.X = zero / zero }, "x", "must be a number of points"},
		{func(f *models.FieldInput) { f.H = 1e6 + 1 }, "h", "must be a number of points"},
		{func(f *models.FieldInput) { f.W = 1e6 }, "x", "reaches outside page"},
		{func(f *models.FieldInput) { f.X, f.Y = -0.5, -0.5 }, "", ""},
		{func(f *models.FieldInput) { f.Origin, f.Y = models.OriginBottomLeft, 842 }, "x", "reaches outside page"},
		{func(f *models.FieldInput) { f.SignerRef = "-1" }, "signerId", "names no signer"},
		{func(f *models.FieldInput) { f.SignerRef = "1" }, "signerId", "names no signer"},
	} {
		in := field("0", models.FieldText)
		c.edit(&in)
		_, err := e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
		if c.path == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, []string{c.path}, problemsOf(t, err), "%+v", in)
		require.ErrorContains(t, err, c.says, "%+v", in)
	}
	// Before the envelope is made no document has an id that could be named.
	p, id := models.Problems{}, uuid.New()
	in := field("0", models.FieldText)
	in.DocumentID = &id
	in.Check(p, "fields[0].", nil)
	assert.Equal(t, models.Problems{"fields[0].documentId": {"names no document of this envelope"}}, p)
}

// TestPagesAreCountedFromOne: a page before the first is none.
func TestPagesAreCountedFromOne(t *testing.T) {
	t.Parallel()
	d := &models.Document{PageCount: 2, Pages: []models.PageRun{{From: 0, Width: 1, Height: 2}, {From: 2, Width: 3, Height: 4}}}
	for n, want := range map[int]bool{-1: false, 0: false, 1: true, 2: true, 3: false} {
		_, _, ok := d.PageSize(n)
		assert.Equal(t, want, ok, n)
	}
}

// TestErrorsOfOneValueAndOfSeveral: the message names the first, and how many more.
func TestErrorsOfOneValueAndOfSeveral(t *testing.T) {
	t.Parallel()
	p := models.Problems{}
	require.NoError(t, p.Err())
	p.Add("b", "is %d", 2)
	require.EqualError(t, p.Err(), "validation_error: b: is 2 (b)")
	p.Add("a", "is 1")
	require.EqualError(t, p.Err(), "validation_error: a: is 1 (and 1 more) (a, b)")
	err := models.InvalidField("c", "is %d", 3)
	require.EqualError(t, err, "validation_error: c: is 3 (c)")
	assert.Equal(t, []string{"c"}, problemsOf(t, err))
}

// TestStrangeAddresses: what looks like an address and has no domain is none.
func TestStrangeAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ada@", "@", "@example.com", `"ada@"`, `"ada@"@`, "ada", "", " ada@example.com", "<ada@example.com>"} {
		p := models.Problems{}
		models.CheckEmail(p, "email", address)
		assert.Contains(t, p, "email", address)
	}
}

// TestACodeWithoutAnEnd is no code.
func TestACodeWithoutAnEnd(t *testing.T) {
	t.Parallel()
	s := &models.Signer{AuthMethod: models.AuthEmailOTP, OTPHash: []byte("hash")}
	assert.Equal(t, &models.CodeState{}, s.CodeState(start))
}

// TestFileNamesAreCut: at the character, and not before.
func TestFileNamesAreCut(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	for name, want := range map[string]string{
		strings.Repeat("é", 100): strings.Repeat("é", 100) + ".pdf", strings.Repeat("é", 101): strings.Repeat("é", 100) + ".pdf",
		"a.pdf": "a.pdf", ".pdf": "document.pdf", "pdf": "pdf.pdf", "": "document.pdf", "a.PDF": "a.pdf", "é": "é.pdf",
	} {
		e.Documents[0].Name = name
		assert.Equal(t, want, e.DocumentName(e.Documents[0]), name)
	}
	// A document of several that has no name, or one of which nothing can stand, has its number alone.
	subject := "Lease"
	e.Subject = &subject
	e.Documents = append(e.Documents, &models.Document{ID: uuid.New(), Kind: models.DocumentOriginal, Order: 2, Name: "plan.pdf"})
	for name, want := range map[string]string{"": "Lease (1).pdf", " . ": "Lease (1).pdf", "document.pdf": "Lease (1).pdf", "floor.pdf": "Lease (1) floor.pdf"} {
		e.Documents[0].Name = name
		assert.Equal(t, want, e.FileName(e.Documents[0]), name)
	}
}
