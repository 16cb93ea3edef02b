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

	"countersign/models"
)

// lease returns a template with two roles. The second role has fields of many types.
func lease(t *testing.T) *models.LoadedTemplate {
	t.Helper()
	c := models.TemplateContent{
		Subject: ptr("Lease of {{place}}"), Message: ptr("Dear {{ name }},\nplease sign for {{place}}."),
		Roles: []models.TemplateRole{
			{Role: "landlord", RoutingOrder: 2, AuthMethod: models.AuthNone, AllowDelegation: true}, {Role: "tenant", RoutingOrder: 1, AuthMethod: models.AuthEmailOTP},
		},
	}
	p := models.Problems{}
	c.Check(p)
	require.NoError(t, p.Err())
	made := models.NewTemplate(act(start), models.Template{AppID: uuid.New(), TenantID: "t", Name: "Lease", CreatedBy: "me"})
	e, err := c.Draft(act(start), &made.Template, nil)
	require.NoError(t, err)
	_, err = e.AddDocument(act(start), models.DocumentInput{Document: models.Document{Name: "a.pdf", SHA256: "00", Size: 1, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "k"}}, 1)
	require.NoError(t, err)
	var ins []models.FieldInput
	add := func(name string, typ models.FieldType, a models.FieldAttributes) {
		in := models.FieldInput{Role: "tenant", Name: name, Type: typ, Page: 1, X: 1, Y: 1, W: 10, H: 10, Origin: models.OriginTopLeft, Attributes: a}
		ins = append(ins, in)
	}
	add("", models.FieldSignature, models.FieldAttributes{})
	add("", models.FieldText, models.FieldAttributes{})
	add("rent", models.FieldNumber, models.FieldAttributes{Format: "2"})
	add("pet", models.FieldSelect, models.FieldAttributes{Options: []string{"dog", "cat"}})
	add("agreed", models.FieldCheckbox, models.FieldAttributes{})
	add("", models.FieldRadio, models.FieldAttributes{Group: "size", Option: "small"})
	add("", models.FieldRadio, models.FieldAttributes{Group: "size", Option: "large"})
	add("", models.FieldSignedDate, models.FieldAttributes{})
	ins[5].DefaultValue = "true"
	_, err = e.AddFields(act(start), ins, models.IndexedPath)
	require.NoError(t, err)
	c.FieldsOf(e)
	made.NewVersion(act(start), "me", c, models.TemplateDocuments(e))
	return made
}

func leaseUse() models.TemplateUse {
	return models.TemplateUse{
		Envelope: models.Envelope{TenantID: "t", CreatedBy: "me"}, DefaultExpiryDays: ptr(30), Variables: map[string]string{"place": "the mill", "name": "Ada {{place}}"},
		Signers: []models.SignerInput{
			{Role: "tenant", Name: "Ada", Email: "ada@example.com"}, {Role: "landlord", Name: "Grace", Email: "grace@example.com", RoutingOrder: 7, AuthMethod: models.AuthEmailOTP},
		},
	}
}

// TestEnvelopeOfTemplate_HasValues checks that an envelope has the content of its template, with values in place of
// variables.
func TestEnvelopeOfTemplate_HasValues(t *testing.T) {
	t.Parallel()
	template, use := lease(t), leaseUse()
	use.Values = map[string]string{"rent": "12.50", "pet": "cat", "agreed": "true", "size": "large", "text_1": "hello"}
	e, err := template.NewEnvelope(act(start), use, 1)
	require.NoError(t, err)
	assert.Equal(t, "Lease of the mill", *e.Subject)
	assert.Equal(t, "Dear Ada {{place}},\nplease sign for the mill.", *e.Message, "a substituted value is not parsed again")
	assert.Equal(t, 30, *e.ExpiresInDays)
	assert.Equal(t, template.ID, *e.TemplateID)
	assert.Equal(t, 1, e.TemplateVersion)
	assert.Equal(t, template.ID.String(), e.Events[0].Detail["templateId"])
	require.Len(t, e.Signers, 2)
	assert.Equal(t, []any{"landlord", 7, models.AuthEmailOTP, true}, []any{e.Signers[0].Role, e.Signers[0].RoutingOrder, e.Signers[0].AuthMethod, e.Signers[0].AllowDelegation})
	assert.Equal(t, []any{"tenant", 1, models.AuthEmailOTP, false}, []any{e.Signers[1].Role, e.Signers[1].RoutingOrder, e.Signers[1].AuthMethod, e.Signers[1].AllowDelegation})
	got := make(map[string]string)
	for i, f := range e.Fields {
		got[f.Name+f.Attributes.Option] = f.DefaultValue
		assert.Equal(t, template.Content.Fields[i].Name, f.Name)
		assert.Equal(t, template.Content.Fields[i].Attributes.Named, f.Attributes.Named)
		assert.Equal(t, e.Documents[0].ID, f.DocumentID)
		assert.Equal(t, e.Signers[1].ID, f.SignerID)
	}
	assert.Equal(t, map[string]string{
		"signature_1": "", "text_1": "hello", "rent": "12.50", "pet": "cat", "agreed": "true", "radio_1small": "", "radio_2large": "true", "signed_date_1": "",
	}, got)
	require.NoError(t, e.Send(act(start), nil))

	// Values in the request take precedence over those in the template.
	use = leaseUse()
	use.Envelope.Subject, use.Envelope.Message, use.Expiry, use.Variables = ptr("Own"), ptr("{{words}}"), models.Change[*int]{Present: true}, nil
	e, err = template.NewEnvelope(act(start), use, 1)
	require.NoError(t, err)
	assert.Equal(t, []any{"Own", "{{words}}"}, []any{*e.Subject, *e.Message})
	assert.Nil(t, e.ExpiresAt)

	// A template can override the tenant's deadline, or specify that there is none.
	for days, want := range map[int]*int{5: ptr(5), 0: nil} {
		template.Content.ExpiresInDays = &days
		e, err = template.NewEnvelope(act(start), leaseUse(), 1)
		require.NoError(t, err)
		assert.Equal(t, want, e.ExpiresInDays)
	}
}

// TestUseTemplate_RejectedRequests checks that each problem names the invalid member of the request.
func TestUseTemplate_RejectedRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*models.TemplateUse)
		paths  []string
	}{
		"role missing":    {func(u *models.TemplateUse) { u.Signers = u.Signers[:1] }, []string{"signers"}},
		"role twice":      {func(u *models.TemplateUse) { u.Signers = append(u.Signers, u.Signers[0]) }, []string{"signers[2].role"}},
		"role unknown":    {func(u *models.TemplateUse) { u.Signers[0].Role = "guest" }, []string{"signers", "signers[0].role"}},
		"no role":         {func(u *models.TemplateUse) { u.Signers[1].Role = "" }, []string{"signers", "signers[1].role"}},
		"address":         {func(u *models.TemplateUse) { u.Signers[1].Email = "grace" }, []string{"signers[1].email"}},
		"no phone":        {func(u *models.TemplateUse) { u.Signers[0].AuthMethod = models.AuthSMSOTP }, []string{"signers[0].phone"}},
		"variables":       {func(u *models.TemplateUse) { u.Variables = map[string]string{"place": "x", "more": "y"} }, []string{"variables.more", "variables.name"}},
		"long subject":    {func(u *models.TemplateUse) { u.Variables["place"] = strings.Repeat("x", 300) }, []string{"subject"}},
		"line in subject": {func(u *models.TemplateUse) { u.Variables["place"] = "a\nb" }, []string{"subject"}},
		"control":         {func(u *models.TemplateUse) { u.Variables["name"] = "\x00" }, []string{"message", "variables.name"}},
		"other tenant":    {func(u *models.TemplateUse) { u.Envelope.TenantID = "other" }, []string{"templateId"}},
		"values": {func(u *models.TemplateUse) {
			u.Values = map[string]string{"rent": "dear", "pet": "bird", "agreed": "perhaps", "size": "middle", "signature_1": "x", "signed_date_1": "x", "none": "x", "radio_1": "true", "a b": "x"}
		}, []string{"values.?", "values.agreed", "values.none", "values.pet", "values.radio_1", "values.rent", "values.signature_1", "values.signed_date_1", "values.size"}},
	} {
		use := leaseUse()
		c.change(&use)
		_, err := lease(t).NewEnvelope(act(start), use, 1)
		var rejected *models.Error
		require.ErrorAs(t, err, &rejected, name)
		assert.Equal(t, c.paths, slices.Sorted(maps.Keys(rejected.Fields)), name)
	}
	_, err := lease(t).NewEnvelope(act(start), leaseUse(), 0)
	assert.Equal(t, "plan_documents", code(t, err))
}

// TestTemplateTexts_Braces checks that braces without a variable are rejected, and that the rules for an envelope's
// texts apply.
func TestTemplateTexts_Braces(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"plain": true, "{{a}}": true, "{{ a.b_c-D9 }} and {{a}}": true, "{a}": true, "a } b": true,
		"{{}}": false, "{{a b}}": false, "{{a": false, "a}}": false, "{{{{a}}}}": false, "{{" + strings.Repeat("a", 65) + "}}": false, "{{\ta}}": false,
		strings.Repeat("x", 256): false, strings.Repeat("x", 256) + "{{a}}": true, strings.Repeat("x", 4001) + "{{a}}": false, "\x01{{a}}": false,
	} {
		p := models.Problems{}
		(&models.TemplateContent{Subject: &text}).Check(p)
		assert.Equal(t, ok, len(p["subject"]) == 0, "%q: %v", text, p)
	}
	c := models.TemplateContent{Subject: ptr("{{b}} {{a}} {{b}}"), Message: ptr("{{c}} {{a}}")}
	assert.Equal(t, []string{"b", "a", "c"}, c.Variables())
}

// TestTemplateRoles_AreUnique checks that role names are unique, and that the rules for signers also apply to roles.
func TestTemplateRoles_AreUnique(t *testing.T) {
	t.Parallel()
	p := models.Problems{}
	(&models.TemplateContent{Roles: []models.TemplateRole{
		{Role: "a", RoutingOrder: 1, AuthMethod: models.AuthSMSOTP},
		{Role: "a", RoutingOrder: 1, AuthMethod: models.AuthNone},
		{Role: "", RoutingOrder: 1001, AuthMethod: "oath"},
		{Role: strings.Repeat("x", 65), RoutingOrder: 1, AuthMethod: models.AuthNone},
	}}).Check(p)
	assert.Equal(t, []string{"roles[1].role", "roles[2].authMethod", "roles[2].role", "roles[2].routingOrder", "roles[3].role"}, slices.Sorted(maps.Keys(p)))
	for name, ok := range map[string]bool{"x": true, "": false, " ": false, strings.Repeat("x", 200): true, strings.Repeat("x", 201): false} {
		p := models.Problems{}
		(&models.Template{Name: name, ExternalID: ptr(strings.Repeat("e", 200))}).Check(p)
		assert.Equal(t, ok, len(p) == 0, "%q", name)
	}
}

// TestNewTemplate_SetsOtherFields checks that the creator specifies only the name, and that the service sets the other
// fields.
func TestNewTemplate_SetsOtherFields(t *testing.T) {
	t.Parallel()
	for days, ok := range map[int]bool{-1: false, 0: true, 1: true, 3650: true, 3651: false} {
		p := models.Problems{}
		(&models.TemplateContent{ExpiresInDays: &days}).Check(p)
		assert.Equal(t, ok, len(p["expiresInDays"]) == 0, days)
	}
	act := models.ActionContext{At: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), NewID: uuid.New}
	made := models.NewTemplate(act, models.Template{Name: "Lease", Version: 7, ArchivedAt: &act.At})
	assert.NotEqual(t, uuid.Nil, made.ID)
	assert.Equal(t, []any{"Lease", 0, act.At, act.At}, []any{made.Name, made.Version, made.CreatedAt, made.UpdatedAt})
	assert.Nil(t, made.ArchivedAt)
}

// TestTemplateRoles_HaveKinds checks that a role contains the kind of recipient, the witnessed role and the language.
func TestTemplateRoles_HaveKinds(t *testing.T) {
	t.Parallel()
	c := models.TemplateContent{Roles: []models.TemplateRole{
		{Role: "witness", AuthMethod: models.AuthNone, WitnessFor: "seller"},
		{Role: "seller", RoutingOrder: 3, AuthMethod: models.AuthNone, Kind: models.RecipientInPerson},
		{Role: "files", RoutingOrder: 1, AuthMethod: models.AuthEmailOTP, Kind: models.RecipientCopy, Language: "de", Silent: true},
	}}
	p := models.Problems{}
	c.Check(p)
	require.NoError(t, p.Err())
	assert.Equal(t, 3, c.Roles[0].RoutingOrder, "the routing order of the witnessed signer")
	made := models.NewTemplate(act(start), models.Template{AppID: uuid.New(), Name: "Sale", CreatedBy: "me"})
	e, err := c.Draft(act(start), &made.Template, nil)
	require.NoError(t, err)
	c.FieldsOf(e)
	made.NewVersion(act(start), "me", c, nil)
	use := models.TemplateUse{Envelope: models.Envelope{TenantID: "t", CreatedBy: "me"}, Signers: []models.SignerInput{
		{Role: "seller", Name: "Ada", Email: "ada@example.com", Host: &models.Host{Name: "Hal", Email: "hal@example.com"}, RoutingOrder: 5},
		{Role: "witness", Name: "Will", Email: "will@example.com", WitnessFor: "seller"},
		{Role: "files", Name: "Fay", Email: "fay@example.com", Language: "fr"},
	}}
	e, err = made.NewEnvelope(act(start), use, 1)
	require.NoError(t, err)
	require.Len(t, e.Signers, 2)
	assert.Equal(t, []any{"witness", 5, "seller"}, []any{e.Signers[0].Role, e.Signers[0].RoutingOrder, e.Signers[0].WitnessFor})
	assert.Equal(t, "Hal", e.Signers[1].Host().Name)
	require.Len(t, e.Copies, 1)
	assert.Equal(t, []any{"fr", true}, []any{e.Copies[0].Language, e.Copies[0].Silent})

	again := models.TemplateContent{}
	again.FromEnvelope(e)
	again.FromEnvelope(e)
	require.Len(t, again.Roles, 3, "the copied roles replace the earlier ones")
	assert.Equal(t, []models.RecipientKind{"", models.RecipientInPerson, models.RecipientCopy}, []models.RecipientKind{again.Roles[0].Kind, again.Roles[1].Kind, again.Roles[2].Kind})
	again.Check(p)
	require.NoError(t, p.Err())

	use.Signers[0].Kind, use.Signers[1].WitnessFor, use.Signers[1].Email = models.RecipientSigner, "files", "ada@example.com"
	_, err = made.NewEnvelope(act(start), use, 1)
	assert.ElementsMatch(t, []string{"signers[0].kind", "signers[1].email", "signers[1].witnessFor"}, problemsOf(t, err))
	p = models.Problems{}
	(&models.TemplateContent{Roles: []models.TemplateRole{{Role: "a", RoutingOrder: 1, Kind: "judge", AuthMethod: models.AuthNone}, {Role: "b", AuthMethod: models.AuthNone, WitnessFor: "c"}}}).Check(p)
	assert.Equal(t, []string{"roles[0].kind", "roles[1].witnessFor"}, slices.Sorted(maps.Keys(p)))
}

func TestNewEnvelope_UnknownDocument_UsesFirst(t *testing.T) {
	t.Parallel()
	template, use := lease(t), leaseUse()
	template.Content.Fields[1].DocumentID = uuid.New()
	use.Values = map[string]string{"rent": ""}
	e, err := template.NewEnvelope(act(start), use, 1)
	require.NoError(t, err)
	for _, f := range e.Fields {
		require.Equal(t, e.Documents[0].ID, f.DocumentID, f.Name)
		if f.Name == "rent" {
			require.Empty(t, f.DefaultValue, "an empty value prefills nothing")
		}
	}
}

// TestFieldsFor_ReplacedDocument checks that a field of a replaced document is moved to the first document if it was
// requested, and dropped if it was detected.
func TestFieldsFor_ReplacedDocument(t *testing.T) {
	t.Parallel()
	kept, replaced := uuid.New(), uuid.New()
	c := models.TemplateContent{Fields: []models.TemplateField{
		{Field: models.Field{Page: 1, DocumentID: kept}},
		{Field: models.Field{Page: 2, DocumentID: replaced, Source: models.SourceRequest}},
		{Field: models.Field{Page: 3, DocumentID: replaced, Source: models.SourceForm}},
	}}
	in := c.FieldsFor([]*models.TemplateDocument{{Document: models.Document{ID: kept}}})
	require.Len(t, in, 2)
	require.Equal(t, &kept, in[0].DocumentID)
	require.Equal(t, 2, in[1].Page)
	require.Nil(t, in[1].DocumentID)
}
