package models_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"countersign/models"
)

// submission maps field names to the values that a test submits. A name with the prefix "*" submits a picture.
type submission map[string]string

func submit(e *models.Envelope, values submission) models.Submission {
	sub := models.Submission{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text := values[name]
		picture := strings.HasPrefix(name, "*")
		name = strings.TrimPrefix(name, "*")
		for _, f := range e.Fields {
			if f.Name == name {
				in := models.FieldSubmission{FieldID: f.ID, Text: &text}
				if picture {
					in.Text, in.Image = nil, []byte(text)
				}
				sub.Fields = append(sub.Fields, in)
				break
			}
		}
	}
	return sub
}

// signing returns a sent envelope with the given fields. The signer with index i can sign next, because the earlier
// signers have signed without values.
func signing(t require.TestingT, i int, ins ...models.FieldInput) *models.Envelope {
	e := unfilled(t)
	_, err := e.AddFields(act(start), ins, models.IndexedPath)
	require.NoError(t, err)
	require.NoError(t, e.Send(act(start), nil))
	for n := range i {
		_, err = e.Consent(act(start), link(e, n), new(models.Signer).Disclosure("en"))
		require.NoError(t, err)
		_, err = e.Sign(act(start), link(e, n), models.Submission{})
		require.NoError(t, err)
	}
	_, err = e.Consent(act(start), link(e, i), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	return e
}

// signedValues returns the signed values by field name. If several fields have the same name, the name of the second
// one is followed by one apostrophe, that of the third by two, and so on.
func signedValues(e *models.Envelope) map[string]string {
	out := map[string]string{}
	for _, v := range e.Values {
		for _, f := range e.Fields {
			if f.ID != v.FieldID {
				continue
			}
			name := f.Name
			for out[name] != "" {
				name += "'"
			}
			out[name] = v.Text + string(v.Image)
		}
	}
	return out
}

// TestFieldRules_AcceptAndReject checks the accepted and rejected values for each type and rule, and that errors
// identify the field and the rule.
func TestFieldRules_AcceptAndReject(t *testing.T) {
	t.Parallel()
	must := func(in *models.FieldInput) { in.Required = true }
	valid := func(v models.FieldValidation) func(*models.FieldInput) {
		return with(func(a *models.FieldAttributes) { a.Validation = &v })
	}
	format := func(f string) func(*models.FieldInput) {
		return with(func(a *models.FieldAttributes) { a.Format = f })
	}
	readOnly := with(func(a *models.FieldAttributes) { a.ReadOnly = true })
	for _, c := range []struct {
		in   models.FieldInput
		text string
		rule string // empty if the value is accepted
	}{
		{of("A", models.FieldName, "f"), "Ada\nLovelace", "type"},
		{of("A", models.FieldName, "f"), strings.Repeat("x", 256), "type"},
		{of("A", models.FieldTitle, "f"), strings.Repeat("x", 255), ""},
		{of("A", models.FieldCompany, "f", must), " ", "required"},
		{of("A", models.FieldEmail, "f"), "ada@example.com", ""},
		{of("A", models.FieldEmail, "f"), "ada", "type"},
		{of("A", models.FieldNumber, "f"), "-12.50", ""},
		{of("A", models.FieldNumber, "f"), "1e5", "type"},
		{of("A", models.FieldNumber, "f"), "1,000", "type"},
		{of("A", models.FieldNumber, "f"), "NaN", "type"},
		{of("A", models.FieldNumber, "f", format("2")), "0.125", "format"},
		{of("A", models.FieldNumber, "f", format("2")), "0.12", ""},
		{of("A", models.FieldNumber, "f", format("0")), "7.0", "format"},
		{of("A", models.FieldNumber, "f", valid(models.FieldValidation{Min: "0.1", Max: "10"})), "0.09", "min"},
		{of("A", models.FieldNumber, "f", valid(models.FieldValidation{Min: "0.1", Max: "10"})), "0.10", ""},
		{of("A", models.FieldNumber, "f", valid(models.FieldValidation{Min: "0.1", Max: "10"})), "10.01", "max"},
		{of("A", models.FieldSelect, "f"), "two", ""},
		{of("A", models.FieldSelect, "f"), "Two", "options"},
		{of("A", models.FieldDate, "f", format("dd.MM.yyyy")), "29.02.2024", ""},
		{of("A", models.FieldDate, "f", format("dd.MM.yyyy")), "29.02.2023", "format"},
		{of("A", models.FieldDate, "f", format("dd.MM.yyyy")), "2024-02-29", "format"},
		{of("A", models.FieldDate, "f", format("MM/dd/yyyy"), valid(models.FieldValidation{Min: "2026-01-31"})), "01/30/2026", "min"},
		{of("A", models.FieldDate, "f", format("MM/dd/yyyy"), valid(models.FieldValidation{Min: "2026-01-31"})), "01/31/2026", ""},
		{of("A", models.FieldDate, "f", valid(models.FieldValidation{Max: "2026-01-31"})), "2026-02-01", "max"},
		{of("A", models.FieldDate, "f", valid(models.FieldValidation{Max: "2026-01-31"})), "31.01.2026", "format"},
		{of("A", models.FieldText, "f", with(func(a *models.FieldAttributes) { a.MaxLength = 3 })), "äöü", ""},
		{of("A", models.FieldText, "f", with(func(a *models.FieldAttributes) { a.MaxLength = 3 })), "äöüß", "maxLength"},
		{of("A", models.FieldText, "f", with(func(a *models.FieldAttributes) { a.MaxLength, a.Comb = 5, true })), "a\nb", "type"},
		{of("A", models.FieldText, "f", valid(models.FieldValidation{Pattern: "a|b"})), "b", ""},
		{of("A", models.FieldText, "f", valid(models.FieldValidation{Pattern: "a|b"})), "ab", "pattern"},
		{of("A", models.FieldText, "f", valid(models.FieldValidation{Pattern: "a|b"})), "b\n", "pattern"},
		{of("A", models.FieldText, "f", valid(models.FieldValidation{Pattern: "[0-9]+"})), "", ""},
		{of("A", models.FieldText, "f", readOnly, prefilled("fixed")), "other", "readOnly"},
		{of("A", models.FieldText, "f", readOnly, prefilled("fixed")), "fixed", ""},
		{of("A", models.FieldName, "f", readOnly), "Somebody else", "readOnly"},
		{of("A", models.FieldSignedDate, "f"), "2026-01-01", "readOnly"},
		{of("A", models.FieldRadio, "f", radio("g", "x")), "maybe", "type"},
		{of("A", models.FieldRadio, "f", radio("g", "x"), must), "false", "required"},
		{of("A", models.FieldRadio, "f", radio("g", "x"), must), "true", ""},
		{of("A", models.FieldCheckbox, "f", must), "false", "required"},
		{of("A", models.FieldStamp, "f", must), "text", "type"},
		{of("A", models.FieldText, "f", when(filled("g"))), "x", "condition"},
		{of("A", models.FieldText, "f", when(filled("g")), must), "", ""},
	} {
		ins := []models.FieldInput{c.in}
		if c.in.Attributes.Condition != nil {
			ins = append(ins, of("A", models.FieldText, "g"))
		}
		e := signing(t, 0, ins...)
		_, err := e.Sign(act(start), link(e, 0), submit(e, submission{"f": c.text}))
		if c.rule == "" {
			require.NoError(t, err, "%+v %q", c.in, c.text)
			continue
		}
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection, "%+v %q", c.in, c.text)
		broken, ok := rejection.Details["fields"].([]map[string]any)
		require.True(t, ok)
		require.Equal(t, "f", broken[0]["name"], "%+v %q", c.in, c.text)
		require.Equal(t, c.rule, broken[0]["rule"], "%+v %q: %v", c.in, c.text, rejection)
		require.Equal(t, models.SignerSent, e.Signers[0].Status)
		require.Empty(t, e.Values)
	}
}

// TestKnownValues_FillOmittedFields checks that fields omitted by the signer are filled with known values.
func TestKnownValues_FillOmittedFields(t *testing.T) {
	t.Parallel()
	fields := []models.FieldInput{
		of("A", models.FieldName, "name"), of("A", models.FieldEmail, "mail"), of("A", models.FieldCompany, "firm", prefilled("ACME")),
		of("A", models.FieldSignedDate, "at"), of("A", models.FieldSignedDate, "day", with(func(a *models.FieldAttributes) { a.Format = "d.M.yyyy" })),
		of("A", models.FieldText, "rent", prefilled("900")), of("A", models.FieldCheckbox, "ok", prefilled("yes")),
		of("A", models.FieldText, "hidden", prefilled("secret"), when(filled("nothing"))), of("A", models.FieldText, "nothing"),
		of("A", models.FieldText, "twice"), of("A", models.FieldText, "twice"), of("A", models.FieldSignature, "sig"), of("A", models.FieldSignature, "sig"),
	}
	e := signing(t, 0, fields...)
	sub := submit(e, submission{"twice": "x", "*sig": "png", "rent": "950"})
	sub.TimeZone = ptr("Asia/Kolkata")
	_, err := e.Sign(act(time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)), link(e, 0), sub)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"name": "Signer 0", "mail": "s0@example.com", "firm": "ACME", "at": "2026-11-22 01:30 (UTC+05:30)", "day": "22.11.2026 (UTC+05:30)",
		"rent": "950", "ok": "true", "twice": "x", "twice'": "x", "sig": "png", "sig'": "png",
	}, signedValues(e))

	e = signing(t, 0, fields...)
	_, err = e.Sign(act(start), link(e, 0), submit(e, submission{"name": "", "mail": "", "firm": "", "rent": "", "ok": "false"}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"at": "2026-11-21 07:00 (UTC+00:00)", "day": "21.11.2026 (UTC+00:00)", "ok": "false"}, signedValues(e), "cleared by the signer")

	e = signing(t, 0, fields...)
	sub = submit(e, submission{"twice": "x"})
	sub.Fields = append(sub.Fields, models.FieldSubmission{FieldID: e.Fields[10].ID, Text: ptr("y")})
	_, err = e.Sign(act(start), link(e, 0), sub)
	require.ErrorContains(t, err, "share one value")
	for _, zone := range []string{"Local", "../etc/passwd", "Mars/Olympus", strings.Repeat("A", 65)} {
		_, err = e.Sign(act(start), link(e, 0), models.Submission{TimeZone: &zone})
		require.ErrorContains(t, err, "time zone", zone)
	}
}

// TestChoices_KeepOneOption checks that only one choice of a group is stored, with its option as the value.
func TestChoices_KeepOneOption(t *testing.T) {
	t.Parallel()
	must := func(in *models.FieldInput) { in.Required = true }
	fields := []models.FieldInput{
		of("A", models.FieldRadio, "r1", radio("colour", "red"), must), of("A", models.FieldRadio, "r2", radio("colour", "blue")),
		of("A", models.FieldText, "why", must, when(models.Condition{All: []models.Clause{{Field: "colour", Is: ptr("blue")}}})),
		of("C", models.FieldText, "late", must, when(models.Condition{All: []models.Clause{{Field: "colour", Is: ptr("blue")}}})),
	}
	e := signing(t, 0, fields...)
	for _, c := range []struct {
		values submission
		says   string
	}{
		{submission{}, "a choice in the group colour is required"},
		{submission{"r1": "true", "r2": "true", "why": "x"}, "only one option"},
		{submission{"r2": "true"}, "why"},
		{submission{"r1": "true", "why": "x"}, "condition"},
	} {
		_, err := e.Sign(act(start), link(e, 0), submit(e, c.values))
		require.ErrorContains(t, err, c.says)
	}
	_, err := e.Sign(act(start), link(e, 0), submit(e, submission{"r2": "true", "r1": "false", "why": "x"}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"r2": "true", "why": "x"}, signedValues(e))
	values := e.Values
	named, err := e.NamedValues(values).MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"colour": "blue", "why": "x", "late": null}`, string(named))

	late := e.EarlierNames(e.Signers[2].ID)
	require.Equal(t, []string{"colour"}, late)
	require.Empty(t, e.EarlierNames(e.Signers[0].ID))
	earlier := e.ConditionValues(late, values)
	require.Equal(t, map[string]string{"colour": "blue"}, earlier)
	for i := 1; i <= 2; i++ {
		_, err = e.Consent(act(start), link(e, i), new(models.Signer).Disclosure("en"))
		require.NoError(t, err)
		sub := submit(e, submission{"late": "x"})
		if i == 1 {
			sub = models.Submission{}
		}
		if i == 2 {
			_, err = e.Sign(act(start), link(e, i), sub)
			require.ErrorContains(t, err, "condition", "no option was submitted")
		}
		sub.Earlier = earlier
		_, err = e.Sign(act(start), link(e, i), sub)
		require.NoError(t, err)
	}
}

// TestSignedValues_FollowTheRules checks that the stored values of any submission belong to visible fields, conform to
// every rule, and include all required fields.
func TestSignedValues_FollowTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		types := []models.FieldType{models.FieldText, models.FieldNumber, models.FieldSelect, models.FieldCheckbox, models.FieldEmail, models.FieldDate}
		texts := rapid.SampledFrom([]string{"", " ", "x", "1.25", "-3", "one", "true", "false", "a@b.example", "2026-01-31", "two", "\u202e"})
		var ins []models.FieldInput
		n := rapid.IntRange(1, 6).Draw(t, "fields")
		for i := range n {
			in := of("A", rapid.SampledFrom(types).Draw(t, "type"), string(rune('a'+i)))
			in.Required = rapid.Bool().Draw(t, "required")
			if in.Type == models.FieldText && rapid.Bool().Draw(t, "pattern") {
				in.Attributes.Validation = &models.FieldValidation{Pattern: "[a-z]+"}
			}
			if in.Type == models.FieldNumber {
				in.Attributes.Format = "1"
			}
			if i > 0 && rapid.Bool().Draw(t, "conditional") {
				to := ins[rapid.IntRange(0, i-1).Draw(t, "to")]
				in.Attributes.Condition = &models.Condition{All: []models.Clause{{Field: to.Name, Filled: ptr(rapid.Bool().Draw(t, "filled"))}}}
			}
			ins = append(ins, in)
		}
		e := signing(t, 0, ins...)
		values := submission{}
		for _, in := range ins {
			if rapid.Bool().Draw(t, "given") {
				values[in.Name] = texts.Draw(t, "text")
			}
		}
		_, err := e.Sign(act(start), link(e, 0), submit(e, values))
		if err != nil {
			require.Empty(t, e.Values)
			require.True(t, models.IsRejection(err))
			return
		}
		var fields []models.ConditionField
		entered := map[string]string{}
		for _, f := range e.Fields {
			a := f.Attributes
			fields = append(fields, models.ConditionField{ID: f.Name, Name: f.Name, Type: f.Type, Condition: a.Condition})
		}
		got := signedValues(e)
		for name, text := range got {
			entered[name] = text
		}
		shown := models.VisibleFields(fields, entered, nil)
		for _, f := range e.Fields {
			text, there := got[f.Name]
			if there {
				require.True(t, shown[f.Name], "%s is hidden and has a value", f.Name)
				require.NotContains(t, text, "\u202e")
			}
			switch f.Type { //nolint:exhaustive // only the types that can be generated
			case models.FieldNumber:
				require.Contains(t, []string{"", "-3"}, text)
			case models.FieldSelect:
				require.Contains(t, []string{"", "one", "two"}, text)
			case models.FieldEmail:
				require.Contains(t, []string{"", "a@b.example", "s0@example.com"}, text)
			case models.FieldDate:
				require.Contains(t, []string{"", "2026-01-31"}, text)
			case models.FieldText:
				if f.Attributes.Validation != nil && there {
					require.Contains(t, []string{"x", "one", "two", "true", "false"}, text)
				}
			}
			if f.Required && shown[f.Name] {
				require.True(t, there, "%s is required and shown", f.Name)
				require.False(t, f.Type == models.FieldCheckbox && text != "true", "%s must be checked", f.Name)
			}
		}
	})
}

// TestFieldOfAnotherSigner_IsNamed checks that a value for another signer's field is rejected even if it is submitted
// together with valid values.
func TestFieldOfAnotherSigner_IsNamed(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1)
	_, err := e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	for name, bad := range map[string]models.FieldSubmission{
		"another's": text(e, 1, "mine now").Fields[0], "nobody's": {FieldID: uuid.New()}, "given twice": text(e, 0, "no").Fields[0],
	} {
		sub := text(e, 0, "yes")
		sub.Fields = append(sub.Fields, bad)
		_, err = e.Sign(act(start), link(e, 0), sub)
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection, name)
		require.Len(t, rejection.Fields, 1, name)
		assert.Contains(t, rejection.Fields, "fields[1].fieldId", name)
		assert.Empty(t, e.Values, name)
	}
}
