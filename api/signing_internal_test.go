package api

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/seal/picture"
	"countersign/test/kit"
)

// TestSubmissions checks that text must be drawable, and that images are decoded only once, and only for the signer's
// own fields.
func TestSubmissions(t *testing.T) {
	t.Parallel()
	image, text, other := uuid.New(), uuid.New(), uuid.New()
	mine := func() map[uuid.UUID]models.FieldType {
		return map[uuid.UUID]models.FieldType{image: models.FieldSignature, text: models.FieldText}
	}
	png := base64.StdEncoding.EncodeToString(kit.Signature())
	read := func(body string) (models.Submission, models.Problems) {
		o := objectOf(t, body)
		sub := submission(o, mine(), new(picture.Checker).Check)
		return sub, o.p
	}
	field := func(id uuid.UUID, rest string) string { return fmt.Sprintf(`{"fieldId":"%s",%s}`, id, rest) }
	sub, p := read(`{"fields":[` + field(image, `"signatureImageBase64":"data:image/png;base64,`+png+`"`) + `,` + field(image, `"signatureImageBase64":"`+png+`"`) + `,` + field(other, `"signatureImageBase64":"x"`) + `,` +
		field(text, `"signatureImageBase64":"","textValue":"yes"`) + `]}`)
	require.Empty(t, p)
	require.True(t, bytes.HasPrefix(sub.Fields[0].Image, []byte("\x89PNG")))
	require.Equal(t, undecodedPicture, sub.Fields[1].Image, "a second value for the same field")
	require.Equal(t, undecodedPicture, sub.Fields[2].Image, "a field of another signer")
	require.Nil(t, sub.Fields[3].Image)
	require.Equal(t, "yes", *sub.Fields[3].Text)
	for body, problems := range map[string]models.Problems{
		`{}`:                           {"fields": {"is required"}},
		`{"fields":[],"shown":"x"}`:    {"shown": {"must be the digest returned by the signing context: 64 lowercase hexadecimal digits"}},
		`{"fields":[{"fieldId":"x"}]}`: {"fields[0].fieldId": {"must be a UUID"}},
		`{"fields":[` + field(image, `"signatureImageBase64":"?"`) + `]}`:    {"fields[0].signatureImageBase64": {"must be base64"}},
		`{"fields":[` + field(image, `"signatureImageBase64":"AAAA"`) + `]}`: {"fields[0].signatureImageBase64": {"The picture is not a valid PNG."}},
	} {
		_, p := read(body)
		require.Equal(t, problems, p, body)
	}
	_, p = read(`{"fields":[` + field(text, `"textValue":"\ue000"`) + `]}`)
	require.Contains(t, p, "fields[0].textValue")
	sub, p = read(`{"fields":[` + field(text, `"textValue":"a\r\nb\rc\nd"`) + `]}`)
	require.Empty(t, p)
	require.Equal(t, "a\nb\nc\nd", *sub.Fields[0].Text)
	digest := strings.Repeat("0a", 32)
	sub, p = read(`{"fields":null,"shown":"` + digest + `","fontLabel":"f"}`)
	require.Empty(t, p)
	require.Equal(t, []string{digest, "f"}, []string{*sub.Shown, *sub.FontLabel})
}
