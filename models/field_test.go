package models_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestReferencesToSigners_NameExactlyOne checks that a field can reference its signer by role, ID, index or
// unambiguous address.
func TestReferencesToSigners_NameExactlyOne(t *testing.T) {
	t.Parallel()
	e, err := models.NewEnvelope(act(start), models.Envelope{TenantID: "t", CreatedBy: "me"})
	require.NoError(t, err)
	_, err = e.AddDocument(act(start), page(), 1)
	require.NoError(t, err)
	var inputs []models.SignerInput
	for _, s := range []struct{ email, role string }{
		{"shared@example.com", ""}, {"Shared@example.com", "Tenant"}, {"ada@example.com", "Landlord"}, {"bo@example.com", ""},
	} {
		in := signer(0, 1, models.AuthNone)
		in.Email, in.Role = s.email, s.role
		_, err := e.AddSigner(act(start), in)
		require.NoError(t, err)
		inputs = append(inputs, in)
	}
	byID := map[string]int{}
	for i, s := range e.Signers {
		byID[s.ID.String()] = i
	}
	for _, c := range []struct {
		role, ref string
		want      int // expected index of the signer; -1 for none
	}{
		{"", "0", 0},
		{"", "1", 1},
		{"", "3", 3},
		{"", "4", -1},
		{"", "-1", -1},
		{"", "1.0", -1},
		{"", "ada@example.com", 2},
		{"", "BO@EXAMPLE.COM", 3},
		{"", "shared@example.com", -1},
		{"", "cy@example.com", -1},
		{"Tenant", "", 1},
		{"Landlord", "", 2},
		{"tenant", "", -1},
		{"Cook", "", -1},
		{"3", "", -1},
	} {
		in := field(c.ref, models.FieldText)
		in.Role = c.role
		member := "signerId"
		if c.role != "" {
			member = "role"
		}
		problems := models.Problems{}
		in.Check(problems, "", inputs)
		fields, err := e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
		if c.want < 0 {
			require.Contains(t, problems, member, "%+v", c)
			var rejection *models.Error
			require.ErrorAs(t, err, &rejection, "%+v", c)
			require.Contains(t, rejection.Fields, member, "%+v", c)
			continue
		}
		require.Empty(t, problems, "%+v", c)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, e.Signers[c.want].ID, fields[0].SignerID, "%+v", c)
	}
	for id, i := range byID {
		fields, err := e.AddFields(act(start), []models.FieldInput{field(id, models.FieldText)}, models.NoPrefix)
		require.NoError(t, err)
		require.Equal(t, e.Signers[i].ID, fields[0].SignerID)
	}
}

// TestFieldPlaces_AreOnThePage checks that a field must be on an existing page, and can extend at most half a point
// beyond the page's edge.
func TestFieldPlaces_AreOnThePage(t *testing.T) {
	t.Parallel()
	good := field("0", models.FieldText)
	document := page()
	w, h := document.Pages[0].Width, document.Pages[0].Height
	for name, c := range map[string]struct {
		change func(f *models.FieldInput)
		bad    string
	}{
		"as it is":           {func(*models.FieldInput) {}, ""},
		"whole page":         {func(f *models.FieldInput) { f.X, f.Y, f.W, f.H = 0, 0, w, h }, ""},
		"half a point over":  {func(f *models.FieldInput) { f.X, f.Y, f.W, f.H = -0.5, -0.5, w+1, h+1 }, ""},
		"over on the left":   {func(f *models.FieldInput) { f.X = -0.51 }, "x"},
		"over at the top":    {func(f *models.FieldInput) { f.Y = -0.51 }, "y"},
		"over on the right":  {func(f *models.FieldInput) { f.X, f.W = w-10, 10.51 }, "x"},
		"over at the bottom": {func(f *models.FieldInput) { f.Y, f.H = h-10, 10.51 }, "x"},
		"over the top, from below": {func(f *models.FieldInput) {
			f.Origin, f.Y, f.H = models.OriginBottomLeft, h-10, 10.51
		}, "x"},
		"up to the top, from below": {func(f *models.FieldInput) {
			f.Origin, f.Y, f.H = models.OriginBottomLeft, h-10, 10.5
		}, ""},
		"no width":         {func(f *models.FieldInput) { f.W = 0 }, "w"},
		"no height":        {func(f *models.FieldInput) { f.H = 0 }, "h"},
		"page 0":           {func(f *models.FieldInput) { f.Page = 0 }, "page"},
		"the last page":    {func(f *models.FieldInput) { f.Page = document.PageCount }, ""},
		"a page too far":   {func(f *models.FieldInput) { f.Page = document.PageCount + 1 }, "page"},
		"too far":          {func(f *models.FieldInput) { f.X = 1e6 + 1 }, "x"},
		"another kind":     {func(f *models.FieldInput) { f.Type = "seal" }, "type"},
		"another origin":   {func(f *models.FieldInput) { f.Origin = "middle" }, "origin"},
		"an index":         {func(f *models.FieldInput) { f.SignerRef = "1" }, ""},
		"an index too far": {func(f *models.FieldInput) { f.SignerRef = "2" }, "signerId"},
		"a negative index": {func(f *models.FieldInput) { f.SignerRef = "-1" }, "signerId"},
		"nobody":           {func(f *models.FieldInput) { f.SignerRef = "nobody@example.com" }, "signerId"},
	} {
		e := draft(t, nil, models.AuthNone, 1, 1)
		before := len(e.Fields)
		in := good
		c.change(&in)
		fields, err := e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
		emails := []models.SignerInput{{Email: e.Signers[0].Email}, {Email: e.Signers[1].Email}}
		if c.bad == "" {
			require.NoError(t, err, name)
			require.Len(t, fields, 1, name)
			require.Equal(t, models.OriginTopLeft, fields[0].Origin, name)
			last := e.Events[len(e.Events)-1]
			require.Equal(t, models.EventFieldAdded, last.Name, name)
			require.Equal(t, fields[0].ID.String(), last.Detail["fieldId"], name)
			require.Empty(t, rejected(func(p models.Problems) { in.Check(p, "f.", emails) }), name)
			continue
		}
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection, name)
		require.Contains(t, rejection.Fields, c.bad, name)
		require.Len(t, e.Fields, before, name)
		if c.bad == "signerId" || c.bad == "type" || c.bad == "w" {
			require.Equal(t, []string{"f." + c.bad}, rejected(func(p models.Problems) { in.Check(p, "f.", emails) }), name)
		}
	}
	e := draft(t, nil, models.AuthNone, 1)
	shared := signer(0, 1, models.AuthNone)
	_, err := e.AddSigner(act(start), shared)
	require.NoError(t, err)
	_, err = e.AddFields(act(start), []models.FieldInput{field(shared.Email, models.FieldText)}, models.NoPrefix)
	require.Equal(t, "validation_error", code(t, err), "two signers have the same address")

	many := make([]models.FieldInput, models.MaxFields-len(e.Fields))
	for i := range many {
		many[i] = good
	}
	_, err = e.AddFields(act(start), append(many, good), models.IndexedPath)
	require.Equal(t, "validation_error", code(t, err))
	_, err = e.AddFields(act(start), many, models.IndexedPath)
	require.NoError(t, err)
	require.Len(t, e.Fields, models.MaxFields)
}

// TestSharedAddress_IsRejected checks that the error for a field whose address belongs to two signers states this
// reason.
func TestSharedAddress_IsRejected(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	again := signer(0, 1, models.AuthNone)
	_, err := e.AddSigner(act(start), again)
	require.NoError(t, err)
	in := field(again.Email, models.FieldText)
	_, err = e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
	require.ErrorContains(t, err, "email address of several signers")
	p := models.Problems{}
	in.Check(p, "", []models.SignerInput{again, again})
	require.ErrorContains(t, p.Err(), "email address of several signers")
	p = models.Problems{}
	in.SignerRef = "-2"
	in.Check(p, "", []models.SignerInput{again, again})
	require.ErrorContains(t, p.Err(), "must be a signer")
}

// TestFieldPlace_ErrorsNameTheNumber checks that the error for each invalid number names its member and describes the
// problem.
func TestFieldPlace_ErrorsNameTheNumber(t *testing.T) {
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
		{func(f *models.FieldInput) { f.W = 1e6 }, "x", "extends beyond page"},
		{func(f *models.FieldInput) { f.X, f.Y = -0.5, -0.5 }, "", ""},
		{func(f *models.FieldInput) { f.Origin, f.Y = models.OriginBottomLeft, 842 }, "x", "extends beyond page"},
		{func(f *models.FieldInput) { f.SignerRef = "-1" }, "signerId", "must be a signer"},
		{func(f *models.FieldInput) { f.SignerRef = "1" }, "signerId", "must be a signer"},
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
	// Before the envelope is created, no document has an ID that could be referenced.
	p, id := models.Problems{}, uuid.New()
	in := field("0", models.FieldText)
	in.DocumentID = &id
	in.Check(p, "fields[0].", nil)
	assert.Equal(t, models.Problems{"fields[0].documentId": {"must be the id of a document of this envelope"}}, p)
}

// TestPages_StartAtOne checks that page numbers start at one.
func TestPages_StartAtOne(t *testing.T) {
	t.Parallel()
	d := &models.Document{PageCount: 2, Pages: []models.PageRun{{From: 0, Width: 1, Height: 2}, {From: 2, Width: 3, Height: 4}}}
	for n, want := range map[int]bool{-1: false, 0: false, 1: true, 2: true, 3: false} {
		_, _, ok := d.PageSize(n)
		assert.Equal(t, want, ok, n)
	}
}

func TestAddFields(t *testing.T) {
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
			for _, before := range []bool{false, true} { // the document can be added before or after the field
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
					var rejection *models.Error
					require.ErrorAs(t, err, &rejection)
					assert.Contains(t, fmt.Sprint(rejection.Fields), c.bad)
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
