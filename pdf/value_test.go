package pdf_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// TestValue_CannotBeParsed_IsDamage checks that callers can recognize every error about a value as damage.
func TestValue_CannotBeParsed_IsDamage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/Name", "[", "[)]", "<<", "<</A>>", "<<1 2>>", strings.Repeat("[", 2*pdf.MaxDepth)} {
		_, err := pdf.Value(text).Array()
		require.ErrorIs(t, err, pdf.ErrDamaged, text)
		_, err = pdf.Value(text).Dict()
		require.ErrorIs(t, err, pdf.ErrDamaged, text)
	}
}
