package api

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/prepare"
	"countersign/seal/admission"
)

// TestSignersOfRoles checks that a role, a number or an email address selects one signer or none.
func TestSignersOfRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		roles []string
		role  string
		want  string // empty if there is no such signer
	}{
		{[]string{"Tenant"}, "", "0"},
		{[]string{"Tenant", "Landlord"}, "", ""},
		{nil, "", ""},
		{[]string{"Tenant", "Landlord"}, "Landlord", "1"},
		{[]string{"Tenant", "Landlord"}, "landlord", ""},
		{[]string{"Tenant", "Landlord"}, "signer2", "1"},
		{[]string{"Tenant", "Landlord"}, "R1", "0"},
		{[]string{"Tenant", "Landlord"}, "r3", ""},
		{[]string{"Tenant", "Landlord"}, "r0", ""},
		{[]string{"Tenant", "r1"}, "r1", "1"},
		{[]string{"Tenant", "Landlord"}, "LANDLORD@example.com", "1"},
		{[]string{"Tenant", "Landlord"}, "tenant@example.com", "0"},
		{[]string{"Tenant", "Tenant"}, "tenant@example.com", ""},
		{[]string{"Tenant"}, "nobody@example.com", ""},
	} {
		e, _ := draftWithRoles(c.roles...)
		got, ok := signerOfRole(e, c.role)
		if i := slices.IndexFunc(e.Signers, func(s *models.Signer) bool { return s.ID.String() == got }); i >= 0 {
			got = strconv.Itoa(i)
		}
		require.Equal(t, c.want != "", ok, "%+v", c)
		if ok {
			require.Equal(t, c.want, got, "%+v", c)
		}
	}
}

// TestFieldsOfWidgets checks that each kind of form widget is converted to the corresponding type of field.
func TestFieldsOfWidgets(t *testing.T) {
	t.Parallel()
	attributes := func(a models.FieldAttributes) models.FieldInput { return models.FieldInput{Attributes: a} }
	for name, c := range map[string]struct {
		widget prepare.FormField
		want   models.FieldInput
	}{
		"text":                     {prepare.FormField{Type: "text", Name: "a.b", MaxLength: 5, Multiline: true, Align: "center", FontSize: 4, Required: true, Default: "d"}, models.FieldInput{Required: true, DefaultValue: "d", Attributes: models.FieldAttributes{Label: "a.b", MaxLength: 5, Multiline: true, Align: models.AlignCenter, FontSize: 4}}},
		"a value beside a default": {prepare.FormField{Type: "text", Label: "L", Value: "v", Default: "d", FontSize: 72}, models.FieldInput{DefaultValue: "v", Attributes: models.FieldAttributes{Label: "L", FontSize: 72}}},
		"a comb has one line":      {prepare.FormField{Type: "text", MaxLength: 3, Comb: true, Multiline: true}, attributes(models.FieldAttributes{MaxLength: 3, Comb: true})},
		"small letters":            {prepare.FormField{Type: "text", FontSize: 3.9}, models.FieldInput{}},
		"large letters":            {prepare.FormField{Type: "text", FontSize: 72.1}, models.FieldInput{}},
		"read-only without value":  {prepare.FormField{Type: "text", ReadOnly: true, Required: true}, attributes(models.FieldAttributes{ReadOnly: true})},
		"read-only with value":     {prepare.FormField{Type: "text", ReadOnly: true, Required: true, Value: "v"}, models.FieldInput{Required: true, DefaultValue: "v", Attributes: models.FieldAttributes{ReadOnly: true}}},
		"date":                     {prepare.FormField{Type: "date", Format: "dd.mm.yyyy", MaxLength: 9, Comb: true, Multiline: true, Value: "24.12.1999"}, models.FieldInput{DefaultValue: "24.12.1999", Attributes: models.FieldAttributes{Format: "dd.MM.yyyy"}}},
		"a box that is on":         {prepare.FormField{Type: "checkbox", Option: "Yes", Value: "Yes"}, models.FieldInput{DefaultValue: "true"}},
		"a box that is off":        {prepare.FormField{Type: "checkbox", Option: "Yes", Value: "Off"}, models.FieldInput{}},
		"a box on by default":      {prepare.FormField{Type: "checkbox", Option: "Yes", Default: "Yes"}, models.FieldInput{DefaultValue: "true"}},
		"a box without a state":    {prepare.FormField{Type: "checkbox"}, models.FieldInput{}},
		"a choice":                 {prepare.FormField{Type: "radio", Option: "red", Value: "red"}, models.FieldInput{DefaultValue: "true", Attributes: models.FieldAttributes{Group: "n", Option: "red"}}},
		"another choice":           {prepare.FormField{Type: "radio", Option: "red", Value: "blue"}, attributes(models.FieldAttributes{Group: "n", Option: "red"})},
		"a choice without a state": {prepare.FormField{Type: "radio"}, attributes(models.FieldAttributes{Group: "n"})},
		"a list":                   {prepare.FormField{Type: "select", Value: "b", Options: []prepare.FormOption{{Export: "a", Text: "A"}, {Export: "x"}, {Export: " ", Text: " "}, {Export: "b", Text: "B"}, {Export: "c", Text: "A"}}}, models.FieldInput{DefaultValue: "B", Attributes: models.FieldAttributes{Options: []string{"A", "B"}}}},
		"a list by its text":       {prepare.FormField{Type: "select", Default: "A", Options: []prepare.FormOption{{Export: "a", Text: "A"}}}, models.FieldInput{DefaultValue: "A", Attributes: models.FieldAttributes{Options: []string{"A"}}}},
		"no choice of the list":    {prepare.FormField{Type: "select", Value: "z", Options: []prepare.FormOption{{Export: "a", Text: "A"}}}, attributes(models.FieldAttributes{Options: []string{"A"}})},
		"signature":                {prepare.FormField{Type: "signature", ReadOnly: true, Required: true, Value: "x"}, models.FieldInput{Required: true}},
	} {
		want := c.want
		want.Type, want.Source, want.Name = models.FieldType(c.widget.Type), models.SourceForm, "n"
		if c.widget.Type == "radio" {
			want.Name = ""
		}
		require.Equal(t, want, fieldOfForm(c.widget, "n"), name)
	}
	for format, want := range map[string]models.FieldType{"dd.mm.yy": models.FieldText, "dd.mm.yyyy": models.FieldDate} {
		for value, fits := range map[string]bool{"": true, "24.12.1999": true, "soon": false} {
			in := fieldOfForm(prepare.FormField{Type: "date", Format: format, Value: value}, "n")
			if !fits {
				want = models.FieldText
			}
			require.Equal(t, want, in.Type, "%s %s", format, value)
			require.Equal(t, want == models.FieldDate, in.Attributes.Format != "")
			want = map[string]models.FieldType{"dd.mm.yy": models.FieldText, "dd.mm.yyyy": models.FieldDate}[format]
		}
	}
	require.Equal(t, strings.Repeat("é", 200), fieldOfForm(prepare.FormField{Type: "text", Label: strings.Repeat("é", 201)}, "n").Attributes.Label)
	require.Equal(t, "Line 1. Amount", fieldOfForm(prepare.FormField{Type: "text", Label: "Line 1.\tAmount\r\n"}, "n").Attributes.Label)
}

// TestFoundFields checks that visible fields are found with the correct page and signer.
func TestFoundFields(t *testing.T) {
	t.Parallel()
	e, d := draftWithRoles("A", "B")
	none, err := foundFields(e, d, nil, prepare.Options{})
	require.NoError(t, err)
	require.Empty(t, none)
	at := func(x, y, w, h float64) prepare.Position { return prepare.Position{Page: 1, X: x, Y: y, W: w, H: h} }
	rev := &admission.Prepared{Revision: &prepare.Revision{}}
	rev.Fields = []prepare.FormField{
		{Type: "text", Name: "hidden", Hidden: true, Place: at(1, 1, 9, 9)},
		{Type: "text", Name: "over", Place: at(-5, 790, 20, 20)},
		{Type: "text", Name: "flat", Place: at(1, 1, 9, 0)},
		{Type: "text", Name: "thin", Place: at(1, 1, 0, 9)},
		{Type: "text", Name: "beside", Place: at(700, 1, 9, 9)},
		{Type: "text", Name: "mine_es_:A", Place: at(1, 1, 9, 9)},
	}
	got, err := foundFields(e, d, rev, prepare.Options{FormRole: "B"})
	require.NoError(t, err)
	require.Len(t, got, 2)
	over, mine := got[0], got[1]
	require.Equal(t, []any{"over", e.Signers[1].ID.String(), 0.0, 790.0, 15.0, 10.0, 1, models.OriginTopLeft, &d.ID}, []any{over.Name, over.SignerRef, over.X, over.Y, over.W, over.H, over.Page, over.Origin, over.DocumentID})
	require.Equal(t, []any{"mine", e.Signers[0].ID.String()}, []any{mine.Name, mine.SignerRef})
	_, err = foundFields(e, d, rev, prepare.Options{})
	require.Equal(t, "validation_error", codeOf(t, err))

	tag := prepare.FoundTag{Text: "{{x}}", Place: at(10, 10, 100, 20)}
	tag.Type, tag.Role, tag.Name, tag.Options = "radio", "A", "g", []string{"red", "blue"}
	in, err := fieldOfTag(e, d, tag)
	require.NoError(t, err)
	require.Equal(t, []any{"", "g", "red", []string(nil)}, []any{in.Name, in.Attributes.Group, in.Attributes.Option, in.Attributes.Options})
	tag.Options = nil
	_, err = fieldOfTag(e, d, tag)
	require.ErrorContains(t, err, "option")
	tag.Type, tag.Role = "text", "Nobody"
	_, err = fieldOfTag(e, d, tag)
	require.Equal(t, "text_tag_invalid", codeOf(t, err))

	tag.Tag = prepare.Tag{Type: "number", Role: "r2", Signer: 2, ReadOnly: true, FontSize: 12, Align: "right", Default: "50", Min: "1", Max: "99"}
	in, err = fieldOfTag(e, d, tag)
	require.NoError(t, err)
	require.Equal(t, models.FieldAttributes{
		ReadOnly: true, FontSize: 12, Align: models.AlignRight, Validation: &models.FieldValidation{Min: "1", Max: "99"},
	}, in.Attributes)
	require.Equal(t, []any{"50", e.Signers[1].ID.String()}, []any{in.DefaultValue, in.SignerRef})
	tag.Default = "100"
	_, err = fieldOfTag(e, d, tag)
	require.ErrorContains(t, err, "defaultValue")
}

// draftWithRoles returns a draft that has one page of 600 × 800 points, and signers with the given roles. The email
// address of each signer consists of the role and the domain example.com.
func draftWithRoles(roles ...string) (*models.Envelope, *models.Document) {
	d := &models.Document{ID: uuid.New(), PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 600, Height: 800}}}
	e := &models.Envelope{Documents: []*models.Document{d}, FirstDocumentID: d.ID}
	for _, role := range roles {
		e.Signers = append(e.Signers, &models.Signer{ID: uuid.New(), Role: role, Email: role + "@example.com"})
	}
	return e, d
}

func TestDateFormat_OfAForm_HasTheLettersOfAField(t *testing.T) {
	t.Parallel()
	require.Equal(t, "dd.MM.yyyy HH:mm", dateFormat("dd.mm.yyyy HH:MM"))
}
