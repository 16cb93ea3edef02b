package models_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

func validated(v models.FieldValidation) func(*models.FieldInput) {
	return with(func(a *models.FieldAttributes) { a.Validation = &v })
}

func formatted(f string) func(*models.FieldInput) {
	return with(func(a *models.FieldAttributes) { a.Format = f })
}

func required(in *models.FieldInput) { in.Required = true }

// TestAttributes_BelongToTheirTypes checks that each attribute is accepted for its field types and rejected for all
// others.
func TestAttributes_BelongToTheirTypes(t *testing.T) {
	t.Parallel()
	text := []models.FieldType{models.FieldText, models.FieldName, models.FieldEmail, models.FieldCompany, models.FieldTitle}
	lines := append([]models.FieldType{models.FieldDate, models.FieldNumber, models.FieldSelect}, text...)
	for name, c := range map[string]struct {
		set   func(*models.FieldAttributes)
		types []models.FieldType
	}{
		"placeholder": {func(a *models.FieldAttributes) { a.Placeholder = "x" }, lines},
		"fontSize":    {func(a *models.FieldAttributes) { a.FontSize = 4 }, append([]models.FieldType{models.FieldSignedDate}, lines...)},
		"align":       {func(a *models.FieldAttributes) { a.Align = models.AlignLeft }, append([]models.FieldType{models.FieldSignedDate}, lines...)},
		"readOnly":    {func(a *models.FieldAttributes) { a.ReadOnly = true }, append([]models.FieldType{models.FieldSignedDate, models.FieldCheckbox, models.FieldRadio}, lines...)},
		"maxLength":   {func(a *models.FieldAttributes) { a.MaxLength = 2000 }, append([]models.FieldType{models.FieldNumber}, text...)},
		"comb":        {func(a *models.FieldAttributes) { a.Comb, a.MaxLength = true, 1 }, []models.FieldType{models.FieldText, models.FieldNumber}},
		"multiline":   {func(a *models.FieldAttributes) { a.Multiline = true }, []models.FieldType{models.FieldText}},
		"validation":  {func(a *models.FieldAttributes) { a.Validation = &models.FieldValidation{Message: "x"} }, append([]models.FieldType{models.FieldNumber, models.FieldDate}, text...)},
		"options":     {func(a *models.FieldAttributes) { a.Options = []string{"x"} }, []models.FieldType{models.FieldSelect}},
		"label":       {func(a *models.FieldAttributes) { a.Label = "x" }, models.FieldTypes},
	} {
		for _, typ := range models.FieldTypes {
			in := of("A", typ, "")
			if typ == models.FieldRadio {
				in.Attributes.Group, in.Attributes.Option = "g", "x"
			}
			c.set(&in.Attributes)
			_, err := unfilled(t).AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
			fits := false
			for _, other := range c.types {
				fits = fits || other == typ
			}
			if fits {
				require.NoError(t, err, "%s of %s", name, typ)
				continue
			}
			require.Contains(t, problemsOf(t, err), name, "%s of %s", name, typ)
		}
	}
}

// TestExtended_DetectsEachAddition checks that each type and attribute beyond the original API makes a field extended.
func TestExtended_DetectsEachAddition(t *testing.T) {
	t.Parallel()
	for i, typ := range models.FieldTypes {
		f := &models.Field{Type: typ, Required: true, Page: 1}
		require.Equal(t, i > 4, f.Extended(), typ)
	}
	for _, f := range []models.Field{
		{DefaultValue: "x"},
		{Attributes: models.FieldAttributes{Named: true}},
		{Attributes: models.FieldAttributes{Label: "x"}},
		{Attributes: models.FieldAttributes{Placeholder: "x"}},
		{Attributes: models.FieldAttributes{ReadOnly: true}},
		{Attributes: models.FieldAttributes{FontSize: 9}},
		{Attributes: models.FieldAttributes{Align: models.AlignLeft}},
		{Attributes: models.FieldAttributes{MaxLength: 9}},
		{Attributes: models.FieldAttributes{Comb: true}},
		{Attributes: models.FieldAttributes{Multiline: true}},
		{Attributes: models.FieldAttributes{Validation: &models.FieldValidation{}}},
		{Attributes: models.FieldAttributes{Format: "2"}},
		{Attributes: models.FieldAttributes{Condition: &models.Condition{}}},
	} {
		f.Type = models.FieldText
		require.True(t, f.Extended(), "%+v", f)
		e := models.Envelope{Fields: []*models.Field{{Type: models.FieldText}, &f}}
		require.True(t, e.Extended())
		require.Equal(t, f.Attributes.MaxLength*map[bool]int{true: 1}[f.Attributes.Comb], f.Cells())
	}
	f := models.Field{Type: models.FieldText, Name: "n", Attributes: models.FieldAttributes{MaxLength: 3}}
	require.Equal(t, []any{0, "", false}, []any{f.Cells(), f.ChosenName(), f.Checked("true")})
	f.Attributes.Comb, f.Attributes.Named, f.Type = true, true, models.FieldCheckbox
	require.Equal(t, []any{3, "n", true, false}, []any{f.Cells(), f.ChosenName(), f.Checked("true"), f.Checked("false")})
}

// TestFieldLimits_BoundaryValues checks that a value at a limit is accepted, and that a value beyond the limit is
// rejected with a single path.
func TestFieldLimits_BoundaryValues(t *testing.T) {
	t.Parallel()
	options := func(n int) func(*models.FieldInput) {
		return with(func(a *models.FieldAttributes) {
			a.Options = nil
			for i := range n {
				a.Options = append(a.Options, strconv.Itoa(i))
			}
		})
	}
	clauses := func(n int, text string) func(*models.FieldInput) {
		c := models.Condition{}
		for range n {
			c.Any = append(c.Any, models.Clause{Field: "a", IsNot: &text})
		}
		return when(c)
	}
	for _, c := range []struct {
		in   models.FieldInput
		path string // empty if the input is accepted
	}{
		{of("A", models.FieldSelect, "f", options(200)), ""},
		{of("A", models.FieldSelect, "f", options(201)), "options"},
		{of("A", models.FieldText, "f", clauses(20, strings.Repeat("é", 2000))), ""},
		{of("A", models.FieldText, "f", clauses(21, "x")), "condition"},
		{of("A", models.FieldText, "f", clauses(1, strings.Repeat("é", 2001))), "condition.any[0]"},
		{of("A", models.FieldText, "f", validated(models.FieldValidation{Message: strings.Repeat("é", 200)})), ""},
		{of("A", models.FieldText, "f", validated(models.FieldValidation{Message: strings.Repeat("é", 201)})), "validation.message"},
		{of("A", models.FieldText, "f", validated(models.FieldValidation{Pattern: "a{1000}b{1000}c{1000}d{996}"})), ""},
		{of("A", models.FieldText, "f", validated(models.FieldValidation{Pattern: "a{1000}b{1000}c{1000}d{997}"})), "validation.pattern"},
		{of("A", models.FieldNumber, "f", formatted("-1")), "format"},
		{of("A", models.FieldNumber, "f", formatted("0")), ""},
		{of("A", models.FieldNumber, "f", formatted("11"), prefilled("many")), "format"}, // the prefilled value is not checked
		{of("A", models.FieldDate, "f", formatted("dd.MM.yyyy"+strings.Repeat(" ", 30))), ""},
		{of("A", models.FieldDate, "f", formatted("dd.MM.yyyy"+strings.Repeat(" ", 31))), "format"},
		{of("A", models.FieldDate, "f", formatted("MM/yyyy")), "format"},
		{of("A", models.FieldDate, "f", formatted("dd/yyyy")), "format"},
		{of("A", models.FieldText, "f", with(func(a *models.FieldAttributes) { a.Align = models.AlignCenter })), ""},
		{of("A", models.FieldText, "f", with(func(a *models.FieldAttributes) { a.Align = models.AlignRight })), ""},
		{of("A", models.FieldText, "f", with(func(a *models.FieldAttributes) { a.ReadOnly = true }), prefilled("x")), ""},
	} {
		_, err := unfilled(t).AddFields(act(start), []models.FieldInput{of("A", models.FieldText, "a"), c.in}, func(i int) string { return []string{"other.", ""}[i] })
		if c.path == "" {
			require.NoError(t, err, "%+v", c.in)
			continue
		}
		require.Equal(t, []string{c.path}, problemsOf(t, err), "%+v", c.in)
	}

	signers := []models.SignerInput{{Role: "A", Email: "a@example.com"}}
	for path, in := range map[string]models.FieldInput{"f.role": of("B", models.FieldText, ""), "f.signerId": field("1", models.FieldText)} {
		p := models.Problems{}
		in.Check(p, "f.", signers)
		require.Equal(t, []string{path}, problemsOf(t, p.Err()))
	}
	p := models.Problems{}
	of("A", models.FieldText, "").Check(p, "f.", signers)
	require.Empty(t, p)
	e := unfilled(t)
	in := signer(7, 1, models.AuthNone)
	for _, role := range []string{"A", strings.Repeat("r", 65)} {
		in.Role = role
		_, err := e.AddSigner(act(start), in)
		require.Equal(t, []string{"role"}, problemsOf(t, err))
	}
	in.Role = strings.Repeat("r", 64)
	_, err := e.AddSigner(act(start), in)
	require.NoError(t, err)
}

// entered returns a submission of texts and images for the fields with the given numbers.
func entered(e *models.Envelope, pairs ...any) models.Submission {
	sub := models.Submission{}
	for i := 0; i < len(pairs); i += 2 {
		in := models.FieldSubmission{FieldID: e.Fields[pairs[i].(int)].ID} //nolint:forcetypeassert // always an int in the tests below
		switch v := pairs[i+1].(type) {
		case string:
			in.Text = &v
		case []byte:
			in.Image = v
		}
		sub.Fields = append(sub.Fields, in)
	}
	return sub
}

// TestSubmission_StoredValues checks that fields with the same name share a value, that known values are not
// overwritten, and that hidden fields have no value.
func TestSubmission_StoredValues(t *testing.T) {
	t.Parallel()
	readOnly := with(func(a *models.FieldAttributes) { a.ReadOnly = true })
	twice := []models.FieldInput{of("A", models.FieldText, "t"), of("A", models.FieldText, "t")}
	numbers := []models.FieldInput{of("A", models.FieldNumber, "n"), of("A", models.FieldNumber, "n")}
	pictures := []models.FieldInput{of("A", models.FieldSignature, "s"), of("A", models.FieldSignature, "s")}
	afterPicture := []models.FieldInput{of("A", models.FieldSignature, "s"), of("A", models.FieldText, "why", required, when(filled("s")))}
	hiddenBox := []models.FieldInput{of("A", models.FieldText, "t"), of("A", models.FieldCheckbox, "box", when(filled("t")))}
	hiddenGroup := []models.FieldInput{of("A", models.FieldText, "t"), of("A", models.FieldRadio, "r", radio("g", "x"), required, when(filled("t"))), of("A", models.FieldRadio, "q", radio("h", "x"))}
	fixed := []models.FieldInput{of("A", models.FieldText, "t", readOnly, prefilled("x")), of("A", models.FieldText, "")}
	fixedBox := []models.FieldInput{of("A", models.FieldCheckbox, "box", readOnly)}
	markedBox := []models.FieldInput{of("A", models.FieldCheckbox, "box", readOnly, prefilled("yes"))}
	checkedBox := []models.FieldInput{of("A", models.FieldCheckbox, "box", required, prefilled("yes"))}
	dated := []models.FieldInput{of("A", models.FieldSignedDate, "d")}
	for name, c := range map[string]struct {
		fields []models.FieldInput
		pairs  []any
		kept   map[string]string
		says   string
	}{
		"the second has the value":    {twice, []any{0, "", 1, "x"}, map[string]string{"t": "x", "t'": "x"}, ""},
		"the first has the value":     {twice, []any{0, "x", 1, " "}, map[string]string{"t": "x", "t'": "x"}, ""},
		"the other way round":         {twice, []any{1, "y", 0, "x"}, nil, "fields[0].textValue"},
		"where it was sent":           {numbers, []any{1, "", 0, "many"}, nil, "fields[0].textValue, fields[1].textValue"},
		"two pictures":                {pictures, []any{0, []byte("a"), 1, []byte("b")}, nil, "differs from the value"},
		"no picture":                  {afterPicture, nil, map[string]string{}, ""},
		"a picture that asks":         {afterPicture, []any{0, []byte("a")}, nil, "required text field why"},
		"a hidden box that is odd":    {hiddenBox, []any{1, "perhaps"}, nil, "condition"},
		"a hidden box that is empty":  {hiddenBox, []any{1, "off"}, map[string]string{}, ""},
		"a hidden group":              {hiddenGroup, nil, map[string]string{}, ""},
		"a group that is shown":       {hiddenGroup, []any{0, "x"}, nil, "a choice in the group g is required"},
		"a fixed value left out":      {fixed, nil, map[string]string{"t": "x"}, ""},
		"a fixed value sent as blank": {fixed, []any{0, " "}, map[string]string{"t": "x"}, ""},
		"a fixed box that is odd":     {fixedBox, []any{0, "perhaps"}, nil, "is read-only: omit its value"},
		"a fixed box that is marked":  {fixedBox, []any{0, "true"}, nil, "is read-only: omit its value"},
		"a fixed mark in other words": {markedBox, []any{0, "on"}, map[string]string{"box": "true"}, ""},
		"a mark that is there":        {checkedBox, nil, map[string]string{"box": "true"}, ""},
		"the right date":              {dated, []any{0, "2026-11-21 07:00 (UTC+00:00)"}, nil, "is read-only: omit its value"},
	} {
		e := signing(t, 0, c.fields...)
		_, err := e.Sign(act(start), link(e, 0), entered(e, c.pairs...))
		if c.says != "" {
			require.ErrorContains(t, err, c.says, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.kept, signedValues(e), name)
	}
	for text, want := range map[string]string{"yes": "true", "no": ""} {
		f := models.Field{Type: models.FieldCheckbox, DefaultValue: text}
		require.Equal(t, want, f.Prefilled(nil))
	}
}

// TestSubmission_ErrorsNameFieldAndRule checks that each invalid value results in a single problem, and that the error
// details identify the field and the rule.
func TestSubmission_ErrorsNameFieldAndRule(t *testing.T) {
	t.Parallel()
	limited := with(func(a *models.FieldAttributes) { a.MaxLength = 5 })
	for name, c := range map[string]struct {
		in    models.FieldInput
		text  string
		rules []string
		says  string
	}{
		"too long for anybody":     {of("A", models.FieldText, "f", limited), strings.Repeat("x", 2001), []string{"type"}, "2000"},
		"too long for the field":   {of("A", models.FieldText, "f", limited), strings.Repeat("x", 2000), []string{"maxLength"}, "field f: must have at most 5 characters"},
		"no number, and a pattern": {of("A", models.FieldNumber, "f", validated(models.FieldValidation{Pattern: "[0-9]"})), "x", []string{"type"}, "field f: must be a number"},
		"the sender's words":       {of("A", models.FieldText, "f", validated(models.FieldValidation{Pattern: "[0-9]", Message: "One digit."})), "x", []string{"pattern"}, "field f: One digit. (must match"},
		"min alone":                {of("A", models.FieldNumber, "f", validated(models.FieldValidation{Min: "3"})), "4", nil, ""},
		"max alone":                {of("A", models.FieldNumber, "f", validated(models.FieldValidation{Max: "3"})), "2", nil, ""},
		"max of a date":            {of("A", models.FieldDate, "f", validated(models.FieldValidation{Max: "2026-01-31"})), "2026-01-31", nil, ""},
		"min of a date":            {of("A", models.FieldDate, "f", validated(models.FieldValidation{Min: "2026-01-31"})), "31.01.2026", []string{"format"}, "yyyy-MM-dd"},
		"a date without bounds":    {of("A", models.FieldDate, "f", validated(models.FieldValidation{Message: "x"})), "31.01.2026", nil, ""},
		"lines":                    {of("A", models.FieldText, "f"), "a\nb", nil, ""},
		"a message that fits":      {of("A", models.FieldText, "f", validated(models.FieldValidation{Message: "x"})), "a", nil, ""},
		"a long address":           {of("A", models.FieldEmail, "f"), "a@" + strings.Repeat("a", 60) + ".example", nil, ""},
		"a required one":           {of("A", models.FieldText, "f", required), "", []string{"required"}, "is required"},
	} {
		e := signing(t, 0, c.in)
		_, err := e.Sign(act(start), link(e, 0), entered(e, 0, c.text))
		if c.rules == nil {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, c.rules, brokenRules(t, err), name)
	}
	e := signing(t, 0, of("A", models.FieldText, "f", required))
	_, err := e.Sign(act(start), link(e, 0), models.Submission{})
	require.Equal(t, []string{"required"}, brokenRules(t, err))
	_, err = e.Sign(act(start), link(e, 0), models.Submission{TimeZone: ptr("Mars/Olympus"), Fields: entered(e, 0, "x").Fields})
	require.Nil(t, brokenRules(t, err), "no field violates a rule")

	plain := consented(t, models.FieldDate, models.FieldCheckbox)
	_, err = plain.Sign(act(start), link(plain, 0), entered(plain, 0, "soon"))
	require.Nil(t, brokenRules(t, err), "clients without rules must not receive them")
	_, err = plain.Sign(act(start), link(plain, 0), entered(plain, 0, "2026-01-31"))
	require.NoError(t, err, "an optional checkbox may be omitted")
}

// brokenRules returns the rules in an error's details, or nil if the details contain none.
func brokenRules(t *testing.T, err error) []string {
	t.Helper()
	var rejection *models.Error
	require.ErrorAs(t, err, &rejection)
	if rejection.Details == nil {
		return nil
	}
	fields, ok := rejection.Details["fields"].([]map[string]any)
	require.True(t, ok)
	out := []string{}
	for _, f := range fields {
		rule, ok := f["rule"].(string)
		require.True(t, ok)
		out = append(out, rule)
	}
	return out
}

// TestFieldAppearance_IsBounded checks the limits of font sizes and texts.
func TestFieldAppearance_IsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    models.FieldAttributes
		want string // member with the rejected value, or ""
	}{
		{models.FieldAttributes{FontSize: 4}, ""},
		{models.FieldAttributes{FontSize: 72}, ""},
		{models.FieldAttributes{FontSize: 3.9}, "fontSize"},
		{models.FieldAttributes{FontSize: 72.1}, "fontSize"},
		{models.FieldAttributes{MaxLength: 2000}, ""},
		{models.FieldAttributes{MaxLength: 2001}, "maxLength"},
		{models.FieldAttributes{MaxLength: -1}, "maxLength"},
		{models.FieldAttributes{Align: "middle"}, "align"},
		{models.FieldAttributes{Comb: true}, "comb"},
		{models.FieldAttributes{Comb: true, MaxLength: 5}, ""},
		{models.FieldAttributes{Comb: true, MaxLength: 5, Multiline: true}, "comb"},
	} {
		in := field("0", models.FieldText)
		in.Required, in.Attributes = false, c.a
		_, err := draft(t, nil, models.AuthNone, 1).AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
		if c.want == "" {
			require.NoError(t, err, "%+v", c.a)
			continue
		}
		assert.Equal(t, []string{c.want}, problemsOf(t, err), "%+v", c.a)
	}
}
