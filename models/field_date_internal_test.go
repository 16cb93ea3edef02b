package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestISODay_ConvertsUnambiguousDates checks that unambiguous dates in all formats are converted to ISO 8601.
func TestISODay_ConvertsUnambiguousDates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, language, want string }{
		{"2026-04-03", "en", "2026-04-03"},
		{"2026-04-03T23:30:00-05:00", "en", "2026-04-03"},
		{"3 Apr 2026", "en", "2026-04-03"},
		{"Apr 3, 2026", "en", "2026-04-03"},
		{"03.04.2026", "en", "2026-04-03"},
		{"3.4.2026", "de", "2026-04-03"},
		{"03-04-2026", "nl", "2026-04-03"},
		{"2026年4月3日", "ja", "2026-04-03"},
		{"2026/04/03", "ar", "2026-04-03"},
		{" 03/04/2026 ", "fr", "2026-04-03"},
		{"03/04/2026", "es", "2026-04-03"},
		{"03/04/2026", "en", "03/04/2026"},
		{"13/04/2026", "en", "2026-04-13"},
		{"04/13/2026", "en", "2026-04-13"},
		{"04/04/2026", "en", "2026-04-04"},
		{"4/13/2026", "fr", "4/13/2026"},
		{"soon", "en", "soon"},
		{"", "en", ""},
	} {
		require.Equal(t, tt.want, isoDay(tt.text, tt.language), "%s in %s", tt.text, tt.language)
	}
}

// TestDateValues_AreISO checks that a date is converted to ISO 8601 according to the field's format or, by default,
// the language of the signer's page.
func TestDateValues_AreISO(t *testing.T) {
	t.Parallel()
	ada, plain, formatted := &Signer{Status: SignerSigned, Language: "en", ConsentVersion: disclosureEdition + "-fr"}, &Field{Name: "a", Type: FieldDate}, &Field{Name: "b", Type: FieldDate}
	ada.ID[0], plain.ID[0], formatted.ID[0] = 1, 2, 3
	plain.SignerID, formatted.SignerID = ada.ID, ada.ID
	formatted.Attributes.Format = "dd/MM/yyyy"
	e := &Envelope{Signers: []*Signer{ada}, Fields: []*Field{plain, formatted}}
	values := []FieldValue{{FieldID: plain.ID, SignerID: ada.ID, Text: "03/04/2026"}, {FieldID: formatted.ID, SignerID: ada.ID, Text: "03/04/2026"}}
	named := e.NamedValues(values)
	require.Equal(t, "2026-04-03", *named[0].Text)
	require.Equal(t, "03/04/2026", *named[1].Text)
	require.Equal(t, "03/04/2026", values[0].Text, "sealed values do not change")
	ada.ConsentVersion = disclosureEdition + "-en"
	require.Equal(t, "03/04/2026", *e.NamedValues(values)[0].Text, "the date is ambiguous")
	ada.ConsentVersion, ada.Language = "", "fr"
	require.Equal(t, "2026-04-03", *e.NamedValues(values)[0].Text, "in the signer's language if the value could not be parsed")
}
