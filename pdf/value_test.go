package pdf_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/pdf"
)

func TestDecodeText(t *testing.T) {
	t.Parallel()
	for encoded, want := range map[string]string{
		"Tenant\x90s name \x84 \xa0 940":   "Tenant’s name — € 940",
		"\x18\x1f\x80\x9e":                 "˘˜•ž",
		"caf\xe9\n":                        "café\n",
		"\xfe\xff\x20\xac\xd8\x3d\xde\x00": "€😀",
		"\xef\xbb\xbf€":                    "€",
		"\xef\xbb\xbf\xff":                 "\uFFFD",
		"":                                 "",
	} {
		assert.Equal(t, want, pdf.DecodeText([]byte(encoded)))
	}
}
