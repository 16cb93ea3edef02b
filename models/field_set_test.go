package models_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// unfilled returns a draft with a document and no fields. Signers A and B are in the first routing group, and C is in
// the second.
func unfilled(t require.TestingT) *models.Envelope {
	e, err := models.NewEnvelope(act(start), models.Envelope{AppID: uuid.New(), TenantID: "t", CreatedBy: "me"})
	require.NoError(t, err)
	for i, role := range []string{"A", "B", "C"} {
		in := signer(i, 1+i/2, models.AuthNone)
		in.Role = role
		_, err = e.AddSigner(act(start), in)
		require.NoError(t, err)
	}
	_, err = e.AddDocument(act(start), page(), 1)
	require.NoError(t, err)
	return e
}

// of returns the input for a field that belongs to a role.
func of(role string, typ models.FieldType, name string, edit ...func(*models.FieldInput)) models.FieldInput {
	in := field("", typ)
	in.Role, in.Name, in.Required = role, name, false
	if typ == models.FieldSelect {
		in.Attributes.Options = []string{"one", "two"}
	}
	for _, e := range edit {
		e(&in)
	}
	return in
}

func when(c models.Condition) func(*models.FieldInput) {
	return func(in *models.FieldInput) { in.Attributes.Condition = &c }
}

func filled(name string) models.Condition {
	return models.Condition{All: []models.Clause{{Field: name, Filled: ptr(true)}}}
}

func radio(group, option string) func(*models.FieldInput) {
	return func(in *models.FieldInput) { in.Attributes.Group, in.Attributes.Option = group, option }
}

func with(edit func(*models.FieldAttributes)) func(*models.FieldInput) {
	return func(in *models.FieldInput) { edit(&in.Attributes) }
}

func prefilled(text string) func(*models.FieldInput) {
	return func(in *models.FieldInput) { in.DefaultValue = text }
}

// TestFieldAttributes_RejectMisuse checks that an attribute that does not apply or exceeds its limits is rejected with
// its own path.
func TestFieldAttributes_RejectMisuse(t *testing.T) {
	t.Parallel()
	validation := func(v models.FieldValidation) func(*models.FieldInput) {
		return with(func(a *models.FieldAttributes) { a.Validation = &v })
	}
	format := func(f string) func(*models.FieldInput) {
		return with(func(a *models.FieldAttributes) { a.Format = f })
	}
	long := strings.Repeat("x", 201)
	for _, c := range []struct {
		in   models.FieldInput
		path string // empty if the input is accepted
	}{
		{of("A", "hologram", ""), "type"},
		{of("A", models.FieldText, "a b"), "name"},
		{of("A", models.FieldText, strings.Repeat("n", 65)), "name"},
		{of("A", models.FieldText, strings.Repeat("n", 64)), ""},
		{of("Nobody", models.FieldText, ""), "role"},
		{of("A", models.FieldText, "", func(in *models.FieldInput) { in.SignerRef = "0" }), "role"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.Label = long })), "label"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.Label = long[1:] })), ""},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.Placeholder = "a\x00" })), "placeholder"},
		{of("A", models.FieldCheckbox, "", with(func(a *models.FieldAttributes) { a.Placeholder = "a" })), "placeholder"},
		{of("A", models.FieldSignature, "", prefilled("a")), "defaultValue"},
		{of("A", models.FieldSignedDate, "", prefilled("2026-01-01")), "defaultValue"},
		{of("A", models.FieldNumber, "", prefilled("many")), "defaultValue"},
		{of("A", models.FieldSelect, "", prefilled("three")), "defaultValue"},
		{of("A", models.FieldSelect, "", prefilled("two")), ""},
		{of("A", models.FieldCheckbox, "", prefilled("perhaps")), "defaultValue"},
		{of("A", models.FieldCheckbox, "", prefilled("true")), ""},
		{of("A", models.FieldStamp, "", with(func(a *models.FieldAttributes) { a.ReadOnly = true })), "readOnly"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.FontSize = 3.9 })), "fontSize"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.FontSize = 72.1 })), "fontSize"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.FontSize, a.Align = 72, models.AlignRight })), ""},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.Align = "middle" })), "align"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.MaxLength = 2001 })), "maxLength"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.MaxLength = -1 })), "maxLength"},
		{of("A", models.FieldDate, "", with(func(a *models.FieldAttributes) { a.MaxLength = 5 })), "maxLength"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.Comb = true })), "comb"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.Comb, a.MaxLength = true, 9 })), ""},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.Comb, a.MaxLength, a.Multiline = true, 9, true })), "comb"},
		{of("A", models.FieldNumber, "", with(func(a *models.FieldAttributes) { a.Multiline = true })), "multiline"},
		{of("A", models.FieldText, "", format("2")), "format"},
		{of("A", models.FieldNumber, "", format("11")), "format"},
		{of("A", models.FieldNumber, "", format("02")), "format"},
		{of("A", models.FieldNumber, "", format("10")), ""},
		{of("A", models.FieldDate, "", format("dd.MM.yyyy")), ""},
		{of("A", models.FieldDate, "", format("dd.MM")), "format"},
		{of("A", models.FieldDate, "", format("dd.MM.yyyy dd")), "format"},
		{of("A", models.FieldDate, "", format("dd.MM.yyyy 1")), "format"},
		{of("A", models.FieldDate, "", format("dd.MM.yyyy HH:mm")), "format"},
		{of("A", models.FieldSignedDate, "", format("dd.MM.yyyy HH:mm")), ""},
		{of("A", models.FieldSignedDate, "", format("dd.MM.yyyy HH")), "format"},
		{of("A", models.FieldSelect, "", with(func(a *models.FieldAttributes) { a.Options = nil })), "options"},
		{of("A", models.FieldSelect, "", with(func(a *models.FieldAttributes) { a.Options = []string{"a", "a"} })), "options[1]"},
		{of("A", models.FieldSelect, "", with(func(a *models.FieldAttributes) { a.Options = []string{"a", ""} })), "options[1]"},
		{of("A", models.FieldText, "", with(func(a *models.FieldAttributes) { a.Options = []string{"a"} })), "options"},
		{of("A", models.FieldRadio, "", radio("", "x")), "group"},
		{of("A", models.FieldRadio, "", radio("g", "")), "option"},
		{of("A", models.FieldText, "", radio("g", "")), "group"},
		{of("A", models.FieldRadio, "", radio("g", "x")), ""},
		{of("A", models.FieldText, "", validation(models.FieldValidation{Pattern: "("})), "validation.pattern"},
		{of("A", models.FieldText, "", validation(models.FieldValidation{Pattern: "a)|(b"})), "validation.pattern"},
		{of("A", models.FieldText, "", validation(models.FieldValidation{Pattern: long})), "validation.pattern"},
		{of("A", models.FieldText, "", validation(models.FieldValidation{Pattern: "(?=a)b"})), "validation.pattern"},
		{of("A", models.FieldText, "", validation(models.FieldValidation{Pattern: strings.Repeat("([a-z]?){1000}", 12)})), "validation.pattern"},
		{of("A", models.FieldText, "", validation(models.FieldValidation{Pattern: "[A-Z]{2}[0-9]{4}", Message: "As on the card."})), ""},
		{of("A", models.FieldText, "", validation(models.FieldValidation{Min: "1"})), "validation.min"},
		{of("A", models.FieldNumber, "", validation(models.FieldValidation{Min: "a"})), "validation.min"},
		{of("A", models.FieldNumber, "", validation(models.FieldValidation{Min: "2", Max: "1"})), "validation.max"},
		{of("A", models.FieldNumber, "", validation(models.FieldValidation{Min: "-1.5", Max: "-1.5"})), ""},
		{of("A", models.FieldDate, "", validation(models.FieldValidation{Max: "31.12.2026"})), "validation.max"},
		{of("A", models.FieldSignature, "", validation(models.FieldValidation{Message: "x"})), "validation"},
		{of("A", models.FieldText, "", when(models.Condition{})), "condition"},
		{of("A", models.FieldText, "", when(models.Condition{All: []models.Clause{{Field: "a", Filled: ptr(true)}}, Any: []models.Clause{{Field: "a", Filled: ptr(true)}}})), "condition"},
		{of("A", models.FieldText, "", when(models.Condition{All: make([]models.Clause, 21)})), "condition"},
		{of("A", models.FieldText, "", when(models.Condition{Any: []models.Clause{{Field: "", Is: ptr("x")}}})), "condition.any[0].field"},
		{of("A", models.FieldText, "", when(models.Condition{All: []models.Clause{{Field: "a"}}})), "condition.all[0]"},
		{of("A", models.FieldText, "", when(models.Condition{All: []models.Clause{{Field: "a", Is: ptr("x"), Filled: ptr(true)}}})), "condition.all[0]"},
	} {
		e := unfilled(t)
		_, err := e.AddFields(act(start), []models.FieldInput{c.in}, models.NoPrefix)
		if c.path == "" {
			require.NoError(t, err, "%+v", c.in)
			continue
		}
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection, "%+v", c.in)
		require.Contains(t, rejection.Fields, c.path, "%+v", c.in)
		require.Empty(t, e.Fields)
	}
}

// TestFieldSets_NamesGroupsAndConditions checks names, groups and conditions across several fields.
func TestFieldSets_NamesGroupsAndConditions(t *testing.T) {
	t.Parallel()
	is := func(name, value string) models.Condition {
		return models.Condition{All: []models.Clause{{Field: name, Is: &value}}}
	}
	for name, c := range map[string]struct {
		fields []models.FieldInput
		paths  []string // empty if the input is accepted
		says   string
	}{
		"one value in two places":            {fields: []models.FieldInput{of("A", models.FieldText, "rent"), of("A", models.FieldText, "rent")}},
		"a name of two signers":              {[]models.FieldInput{of("A", models.FieldText, "rent"), of("B", models.FieldText, "rent")}, []string{"fields[1].name"}, "another signer"},
		"a name of two types":                {[]models.FieldInput{of("A", models.FieldText, "rent"), of("A", models.FieldNumber, "rent")}, []string{"fields[1].name"}, "a different type"},
		"a name with two rules":              {[]models.FieldInput{of("A", models.FieldText, "rent"), of("A", models.FieldText, "rent", with(func(a *models.FieldAttributes) { a.MaxLength = 3 }))}, []string{"fields[1].name"}, "maxLength"},
		"a name with two values":             {[]models.FieldInput{of("A", models.FieldText, "rent"), of("A", models.FieldText, "rent", prefilled("1"))}, []string{"fields[1].name"}, "defaultValue"},
		"a name with two conditions":         {[]models.FieldInput{of("A", models.FieldText, "x"), of("A", models.FieldText, "rent"), of("A", models.FieldText, "rent", when(filled("x")))}, []string{"fields[2].name"}, "condition"},
		"the name of a field without one":    {fields: []models.FieldInput{of("A", models.FieldText, ""), of("A", models.FieldText, "text_1")}},
		"a group":                            {fields: []models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x")), of("A", models.FieldRadio, "", radio("g", "y"))}},
		"a group of two signers":             {[]models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x")), of("B", models.FieldRadio, "", radio("g", "y"))}, []string{"fields[0].group", "fields[1].group"}, "another signer"},
		"an option twice":                    {[]models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x")), of("A", models.FieldRadio, "", radio("g", "x"))}, []string{"fields[0].option", "fields[1].option"}, "twice"},
		"a group named as a field":           {[]models.FieldInput{of("A", models.FieldText, "g"), of("A", models.FieldRadio, "", radio("g", "x"))}, []string{"fields[1].group"}, "another field"},
		"choices of one name":                {[]models.FieldInput{of("A", models.FieldRadio, "r", radio("g", "x")), of("A", models.FieldRadio, "r", radio("g", "y"))}, []string{"fields[1].name"}, "must have unique names"},
		"two choices prefilled":              {[]models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x"), prefilled("true")), of("A", models.FieldRadio, "", radio("g", "y"), prefilled("true"))}, []string{"fields[0].defaultValue", "fields[1].defaultValue"}, "several"},
		"two choices in other words":         {[]models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x"), prefilled("yes")), of("A", models.FieldRadio, "", radio("g", "y"), prefilled("X"))}, []string{"fields[0].defaultValue", "fields[1].defaultValue"}, "several"},
		"a condition on a later field":       {fields: []models.FieldInput{of("A", models.FieldText, "b", when(filled("a"))), of("A", models.FieldText, "a")}},
		"a condition on nothing":             {[]models.FieldInput{of("A", models.FieldText, "b", when(filled("a")))}, []string{"fields[0].condition.all[0].field"}, "not the name of a field"},
		"a condition on an earlier signer":   {fields: []models.FieldInput{of("A", models.FieldText, "a"), of("C", models.FieldText, "b", when(filled("a")))}},
		"a condition on one of the group":    {[]models.FieldInput{of("A", models.FieldText, "a"), of("B", models.FieldText, "b", when(filled("a")))}, []string{"fields[1].condition.all[0].field"}, "earlier routing group"},
		"a condition on a later signer":      {[]models.FieldInput{of("A", models.FieldText, "b", when(filled("c"))), of("C", models.FieldText, "c")}, []string{"fields[0].condition.all[0].field"}, "earlier routing group"},
		"a condition on one choice":          {[]models.FieldInput{of("A", models.FieldRadio, "r", radio("g", "x")), of("A", models.FieldText, "b", when(filled("r")))}, []string{"fields[1].condition.all[0].field"}, "its group, g"},
		"a picture compared with a text":     {[]models.FieldInput{of("A", models.FieldSignature, "s"), of("A", models.FieldText, "b", when(is("s", "x")))}, []string{"fields[1].condition.all[0]"}, "use filled"},
		"a field that depends on itself":     {[]models.FieldInput{of("A", models.FieldText, "a", when(filled("a")))}, []string{"fields[0].condition"}, "a → a"},
		"a cycle of three":                   {[]models.FieldInput{of("A", models.FieldText, "z"), of("A", models.FieldText, "a", when(filled("b"))), of("A", models.FieldText, "b", when(filled("c"))), of("A", models.FieldText, "c", when(filled("a")))}, []string{"fields[1].condition"}, "a → b → c → a"},
		"a cycle through a group":            {[]models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x"), when(filled("a"))), of("A", models.FieldText, "a", when(is("g", "x")))}, []string{"fields[0].condition"}, "g → a → g"},
		"two ways to one field are no cycle": {fields: []models.FieldInput{of("A", models.FieldText, "a"), of("A", models.FieldText, "b", when(filled("a"))), of("A", models.FieldText, "c", when(filled("a"))), of("A", models.FieldText, "d", when(models.Condition{Any: []models.Clause{{Field: "b", Filled: ptr(true)}, {Field: "c", Filled: ptr(true)}}}))}},
		"a field named as a group":           {[]models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x")), of("A", models.FieldText, "g")}, []string{"fields[0].group", "fields[1].name"}, ""},
		"two files of one name":              {[]models.FieldInput{of("A", models.FieldAttachment, "f"), of("A", models.FieldAttachment, "f")}, []string{"fields[1].name"}, ""},
		"two pictures of one name":           {[]models.FieldInput{of("A", models.FieldSignature, "f"), of("A", models.FieldSignature, "f")}, nil, ""},
		"two boxes of one name":              {[]models.FieldInput{of("A", models.FieldCheckbox, "f"), of("A", models.FieldCheckbox, "f")}, nil, ""},
		"one of them read-only":              {[]models.FieldInput{of("A", models.FieldText, "f"), of("A", models.FieldText, "f", with(func(a *models.FieldAttributes) { a.ReadOnly = true }))}, []string{"fields[1].name"}, ""},
		"two formats":                        {[]models.FieldInput{of("A", models.FieldNumber, "f"), of("A", models.FieldNumber, "f", formatted("2"))}, []string{"fields[1].name"}, ""},
		"two lists of options":               {[]models.FieldInput{of("A", models.FieldSelect, "f"), of("A", models.FieldSelect, "f", with(func(a *models.FieldAttributes) { a.Options = []string{"one"} }))}, []string{"fields[1].name"}, ""},
		"two validations":                    {[]models.FieldInput{of("A", models.FieldText, "f", validated(models.FieldValidation{Pattern: "a"})), of("A", models.FieldText, "f", validated(models.FieldValidation{Pattern: "b"}))}, []string{"fields[1].name"}, ""},
		"equal validations":                  {[]models.FieldInput{of("A", models.FieldText, "f", validated(models.FieldValidation{Pattern: "a"})), of("A", models.FieldText, "f", validated(models.FieldValidation{Pattern: "a"}))}, nil, ""},
		"a choice named as another's group":  {[]models.FieldInput{of("A", models.FieldRadio, "a", radio("g", "x")), of("A", models.FieldRadio, "g", radio("h", "y"))}, []string{"fields[0].group", "fields[1].name"}, ""},
		"one choice prefilled":               {[]models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x"), prefilled("true")), of("A", models.FieldRadio, "", radio("g", "y")), of("A", models.FieldRadio, "", radio("g", "z"), prefilled("false"))}, nil, ""},
		"two of three choices prefilled":     {[]models.FieldInput{of("A", models.FieldRadio, "", radio("g", "x"), prefilled("true")), of("A", models.FieldRadio, "", radio("g", "y")), of("A", models.FieldRadio, "", radio("g", "z"), prefilled("true"))}, []string{"fields[0].defaultValue", "fields[2].defaultValue"}, ""},
		"whether there is a picture":         {[]models.FieldInput{of("A", models.FieldSignature, "s"), of("A", models.FieldText, "f", when(filled("s")))}, nil, ""},
	} {
		e := unfilled(t)
		_, err := e.AddFields(act(start), c.fields, models.IndexedPath)
		if c.paths == nil {
			require.NoError(t, err, name)
			continue
		}
		require.ElementsMatch(t, c.paths, problemsOf(t, err), name)
		require.ErrorContains(t, err, c.says, name)
		require.Empty(t, e.Fields, name)
	}
}

// TestFieldNames_AreGenerated checks that a field without a name gets a unique name generated from its type and a
// number.
func TestFieldNames_AreGenerated(t *testing.T) {
	t.Parallel()
	e := unfilled(t)
	add := func(ins ...models.FieldInput) []string {
		made, err := e.AddFields(act(start), ins, models.IndexedPath)
		require.NoError(t, err)
		out := []string{}
		for _, f := range made {
			out = append(out, f.Name)
		}
		return out
	}
	require.Equal(t, []string{"text_2", "text_3", "date_1", "text_1"}, add(of("A", models.FieldText, ""), of("B", models.FieldText, ""), of("A", models.FieldDate, ""), of("A", models.FieldText, "text_1")))
	require.Equal(t, []string{"text_4"}, add(of("A", models.FieldText, "")))
	_, err := e.AddFields(act(start), []models.FieldInput{of("A", models.FieldText, "text_2")}, models.NoPrefix)
	require.ErrorContains(t, err, "is the name of another field")
}

// TestSend_ChecksFields checks that an envelope whose fields cannot be signed cannot be sent.
func TestSend_ChecksFields(t *testing.T) {
	t.Parallel()
	e := unfilled(t)
	readOnly := with(func(a *models.FieldAttributes) { a.ReadOnly = true })
	must := func(in *models.FieldInput) { in.Required = true }
	_, err := e.AddFields(act(start), []models.FieldInput{
		of("A", models.FieldText, "rent", readOnly, must), of("A", models.FieldName, "who", readOnly, must), of("A", models.FieldSignedDate, "at", readOnly, must),
		of("A", models.FieldText, "note", readOnly), of("A", models.FieldText, "fixed", readOnly, must, prefilled("x")),
	}, models.IndexedPath)
	require.NoError(t, err)
	err = e.Send(act(start), nil)
	require.ErrorContains(t, err, "the field rent is required and read-only, and has no value")
	require.NotContains(t, err.Error(), "more)")
}

// TestFieldNamesAndConditions_AfterEdits checks that a generated name is not used for another field, and that sending
// detects a condition that became invalid when the signers were edited.
func TestFieldNamesAndConditions_AfterEdits(t *testing.T) {
	t.Parallel()
	e := unfilled(t)
	made, err := e.AddFields(act(start), []models.FieldInput{
		of("A", models.FieldText, "a"), of("A", models.FieldText, ""), of("C", models.FieldText, "c", when(filled("a"))), of("C", models.FieldRadio, "", radio("g", "x"), required, with(func(a *models.FieldAttributes) { a.ReadOnly = true }), prefilled("true")),
		of("A", models.FieldText, "n", with(func(a *models.FieldAttributes) { a.ReadOnly = true })), of("A", models.FieldText, "must", required),
	}, models.IndexedPath)
	require.NoError(t, err)
	_, err = e.EditField(act(start), made[0].ID, of("A", models.FieldText, "text_1"))
	require.ErrorContains(t, err, "is the name of another field")
	in := signer(2, 1, models.AuthNone)
	in.Role = "C"
	_, err = e.EditSigner(act(start), e.Signers[2].ID, in)
	require.NoError(t, err)
	err = e.Send(act(start), nil)
	var rejection *models.Error
	require.ErrorAs(t, err, &rejection)
	require.Len(t, rejection.Fields["fields"], 1, "the radio field and the other fields are valid")
	require.Contains(t, rejection.Fields["fields"][0], "condition.all[0].field of field c is a field of another signer")
	in.RoutingOrder = 2
	_, err = e.EditSigner(act(start), e.Signers[2].ID, in)
	require.NoError(t, err)
	require.NoError(t, e.Send(act(start), nil))
	require.Empty(t, e.EarlierNames(e.Signers[1].ID))
	require.Equal(t, []string{"a"}, e.EarlierNames(e.Signers[2].ID))
}

// TestFixedGroups_CanBeSigned checks that a radio group can be sent only if a signer or the sender can choose an
// option.
func TestFixedGroups_CanBeSigned(t *testing.T) {
	t.Parallel()
	readOnly := with(func(a *models.FieldAttributes) { a.ReadOnly = true })
	choice := func(option string, more ...func(*models.FieldInput)) models.FieldInput {
		return of("A", models.FieldRadio, "", append([]func(*models.FieldInput){radio("g", option)}, more...)...)
	}
	for name, c := range map[string]struct {
		fields []models.FieldInput
		sent   bool
	}{
		"none can be chosen":             {[]models.FieldInput{choice("x", required, readOnly), choice("y", readOnly)}, false},
		"another of it is required":      {[]models.FieldInput{choice("x", readOnly), choice("y", required, readOnly, prefilled("false"))}, false},
		"it is shown on a condition":     {[]models.FieldInput{of("A", models.FieldText, "a"), choice("x", required, readOnly, when(filled("a")))}, false},
		"one is chosen":                  {[]models.FieldInput{choice("x", required, readOnly), choice("y", readOnly, prefilled("true"))}, true},
		"one can be chosen":              {[]models.FieldInput{choice("x", required, readOnly), choice("y")}, true},
		"none has to be":                 {[]models.FieldInput{choice("x", readOnly), choice("y", readOnly)}, true},
		"another group can be chosen of": {[]models.FieldInput{choice("x", readOnly), of("A", models.FieldRadio, "", radio("h", "x"), required)}, true},
	} {
		e := unfilled(t)
		fields := append(c.fields, of("A", models.FieldText, "must", required), of("B", models.FieldText, "", required), of("C", models.FieldText, "", required))
		_, err := e.AddFields(act(start), fields, models.IndexedPath)
		require.NoError(t, err, name)
		err = e.Send(act(start), nil)
		if c.sent {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, []string{"fields"}, problemsOf(t, err), name)
		require.ErrorContains(t, err, "a choice in the group g is required", name)
	}
}

// TestConditionValues_ByFieldType checks the values that later signers' conditions compare, by field type.
func TestConditionValues_ByFieldType(t *testing.T) {
	t.Parallel()
	field := func(typ models.FieldType, name, group, option string) *models.Field {
		return &models.Field{ID: uuid.New(), Type: typ, Name: name, Attributes: models.FieldAttributes{Group: group, Option: option}}
	}
	e := &models.Envelope{Fields: []*models.Field{
		field(models.FieldRadio, "r1", "g", "x"), field(models.FieldRadio, "r2", "g", "y"), field(models.FieldRadio, "r3", "h", "z"),
		field(models.FieldCheckbox, "box", "", ""), field(models.FieldCheckbox, "box", "", ""),
		field(models.FieldText, "t", "", ""), field(models.FieldText, "t", "", ""), field(models.FieldSignature, "s", "", ""), field(models.FieldCompany, "firm", "", ""),
	}}
	names := []string{"g", "box", "t", "s", "firm", "r1", "nothing"}
	for _, c := range []struct {
		values map[int]string // by field number
		want   [7]string
	}{
		{nil, [7]string{"", "false", "", "", "", "", ""}},
		{map[int]string{0: "true", 2: "true"}, [7]string{"x", "false", "", "", "", "", ""}},
		{map[int]string{0: "false", 1: "true", 2: "true"}, [7]string{"y", "false", "", "", "", "", ""}},
		{map[int]string{0: "true", 1: "false"}, [7]string{"x", "false", "", "", "", "", ""}},
		{map[int]string{3: "true", 4: "false", 5: "a", 6: "", 7: "", 8: "ACME"}, [7]string{"", "true", "a", "picture", "ACME", "", ""}},
		{map[int]string{3: "false", 4: "true", 5: "", 6: "b"}, [7]string{"", "true", "b", "", "", "", ""}},
		{map[int]string{3: "false", 4: "false"}, [7]string{"", "false", "", "", "", "", ""}},
	} {
		var values []models.FieldValue
		for i, text := range c.values {
			values = append(values, models.FieldValue{FieldID: e.Fields[i].ID, Text: text})
		}
		got := e.ConditionValues(names, values)
		for i, name := range names {
			require.Equal(t, c.want[i], got[name], "%s of %v", name, c.values)
		}
	}

	// Evaluating conditions that form a cycle terminates, although no draft contains a cycle.
	circle := []models.ConditionField{{ID: "a", Name: "a", Type: models.FieldText, Condition: ptr(filled("b"))}, {ID: "b", Name: "b", Type: models.FieldText, Condition: ptr(filled("a"))}}
	require.Empty(t, models.VisibleFields(circle, map[string]string{"a": "x", "b": "x"}, nil))

	// A picture is represented by its hash, whether it was drawn or uploaded.
	s := &models.Signer{ID: uuid.New(), Status: models.SignerSigned}
	e = &models.Envelope{Signers: []*models.Signer{s}, Fields: []*models.Field{field(models.FieldSignature, "s", "", ""), field(models.FieldSignature, "s", "", ""), field(models.FieldText, "t", "", "")}}
	text, err := e.NamedValues([]models.FieldValue{{FieldID: e.Fields[0].ID, SignerID: s.ID, ImageSHA256: "ab"}, {FieldID: e.Fields[2].ID, SignerID: s.ID, Text: "x"}}).MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"s":{"sha256":"ab"},"t":"x"}`, string(text))
	s.Status = models.SignerSent
	require.Empty(t, e.EnteredValues([]models.FieldValue{{FieldID: e.Fields[0].ID, SignerID: s.ID}}), "signers who have not signed have no values")
}
