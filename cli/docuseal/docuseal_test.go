package docuseal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/cli/docuseal"
)

// page is a PageSize for documents with one page of 600 by 800 points.
func page(_, page int) (w, h float64, ok bool) { return 600, 800, page == 0 }

func convert(t *testing.T) *docuseal.Result {
	t.Helper()
	b, err := os.ReadFile("testdata/template.json")
	require.NoError(t, err)
	tpl, err := docuseal.Read(bytes.NewReader(b))
	require.NoError(t, err)
	require.Equal(t, []string{"contract.pdf"}, tpl.FileNames())
	return tpl.Convert(page)
}

func TestConvert(t *testing.T) {
	t.Parallel()
	r := convert(t)
	require.Equal(t, []docuseal.Role{{Name: "Client", Order: 1}, {Name: "Company", Order: 2}}, r.Roles)
	got := make([]string, 0, len(r.Fields))
	for _, f := range r.Fields {
		require.Zero(t, f.Document)
		require.Equal(t, 1, *f.Page)
		b, err := json.Marshal(f.FieldRequest)
		require.NoError(t, err)
		got = append(got, string(b))
	}
	place := func(x, y, w, h string) string {
		return `"h":` + h + `,"origin":"top-left","page":1,"w":` + w + `,"x":` + x + `,"y":` + y
	}
	for i, want := range []string{
		`{"type":"text","role":"Client","name":"Full_Name","label":"Full Name","required":true,"defaultValue":"Ada","fontSize":12,"align":"center",` + place("150", "400", "150", "20") + `}`,
		`{"type":"text","role":"Client","name":"Full_Name","label":"Full Name","required":true,"defaultValue":"Ada","fontSize":12,"align":"center",` + place("360", "400", "150", "20") + `}`,
		`{"type":"signature","role":"Client","name":"Signature","label":"Signature","required":true,` + place("60", "480", "180", "48") + `}`,
		`{"type":"initial","role":"Client","name":"initials_3","required":false,` + place("300", "480", "60", "40") + `}`,
		`{"type":"date","role":"Client","name":"Date","label":"Date","required":true,"format":"dd/MM/yyyy","defaultValue":"22/11/2026",` + place("60", "560", "120", "24") + `}`,
		`{"type":"checkbox","role":"Client","name":"Pets","label":"Pets","required":false,` + place("240", "560", "18", "16") + `}`,
		`{"type":"radio","role":"Client","name":"Which_1","group":"Which","option":"Cat","label":"Cat","required":true,"condition":{"all":[{"field":"Pets","is":"true"}]},` + place("300", "560", "18", "16") + `}`,
		`{"type":"radio","role":"Client","name":"Which_2","group":"Which","option":"Dog","label":"Dog","required":true,"condition":{"all":[{"field":"Pets","is":"true"}]},` + place("360", "560", "18", "16") + `}`,
		`{"type":"select","role":"Client","name":"Plan","label":"Plan","required":true,"options":["Monthly","Yearly"],"defaultValue":"Yearly",` + place("420", "560", "120", "16") + `}`,
		`{"type":"number","role":"Client","name":"Seats","label":"Seats","required":true,"validation":{"min":"1","max":"500","message":"1 to 500"},` + place("60", "640", "60", "16") + `}`,
		`{"type":"text","role":"Client","name":"Code","label":"Code","required":false,"comb":true,"maxLength":6,` + place("180", "640", "180", "16") + `}`,
		`{"type":"stamp","role":"Company","name":"Company_stamp","label":"Company stamp","required":false,` + place("480", "720", "120", "80") + `}`,
		`{"type":"signature","role":"Company","name":"Signature_2","label":"Signature","required":true,` + place("360", "640", "180", "48") + `}`,
		`{"type":"checkbox","role":"Company","name":"Extras_Support","label":"Support","required":false,` + place("240", "720", "18", "16") + `}`,
		`{"type":"checkbox","role":"Company","name":"Extras_Training","label":"Training","required":false,"defaultValue":"true",` + place("300", "720", "18", "16") + `}`,
		`{"type":"text","role":"Company","name":"Later","label":"Later","required":false,` + place("60", "760", "120", "16") + `}`,
	} {
		if assert.Greater(t, len(got), i) {
			assert.JSONEq(t, want, got[i])
		}
	}
	require.Len(t, got, 16)
	require.Equal(t, []string{
		`field "Code": the pattern is omitted: it must be valid RE2 with at most 200 characters`,
		`field "Fee": the type payment is not supported; omitted`,
		`field "Extras": each choice becomes a checkbox; checking at least one is not enforced`,
		`field "Later": the conditions are not supported: the field is always shown, and optional`,
		`field "Beyond": is on page 8, which the document does not contain`,
	}, r.Notes)
}

func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "not a DocuSeal template",
		"[]":                       "not a DocuSeal template",
		"{}":                       "no submitters",
		`{"submitters": [{}]}`:     "lists no documents",
		`{"fields": [{"page": "`:   "not a DocuSeal template",
		strings.Repeat(" ", 9<<20): "larger than 8 MiB",
		`{"submitters": [{}], "schema": [{}], "fields": [` + strings.Repeat("{},", 2000) + "{}]}": "more than 2000 fields",
	} {
		_, err := docuseal.Read(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

// FuzzConvert checks that, for any template, fields are within their pages, belong to a role, and have names that the
// service accepts.
func FuzzConvert(f *testing.F) {
	b, err := os.ReadFile("testdata/template.json")
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(`{"submitters":[{"uuid":"s"}],"schema":[{"attachment_uuid":"d"}],"fields":[{"submitter_uuid":"s","type":"cells","areas":[{"attachment_uuid":"d","x":-1e308,"y":1e308,"w":1e308,"h":-0,"cell_w":1e-308}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tpl, err := docuseal.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		r := tpl.Convert(page)
		for _, p := range r.Fields {
			require.GreaterOrEqual(t, *p.X, 0.0)
			require.GreaterOrEqual(t, *p.Y, 0.0)
			require.LessOrEqual(t, *p.X+*p.W, 600.001)
			require.LessOrEqual(t, *p.Y+*p.H, 800.001)
			require.Regexp(t, `^[A-Za-z0-9_.-]{1,64}$`, *p.Name)
			require.NotEmpty(t, *p.Role)
			require.Less(t, p.Document, len(tpl.Schema))
			_, err := json.Marshal(p.FieldRequest)
			require.NoError(t, err)
		}
	})
}
