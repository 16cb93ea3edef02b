package api

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/seal"
)

// TestPhones: in the international form if they are possible, as given otherwise.
func TestPhones(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`"+45 12 34 56 78"`: "+4512345678", `"12345"`: "12345", `"+1"`: "+1", `""`: "", `"  "`: "", "null": ""} {
		got := phone(objectOf(t, `{"phone":`+text+`}`))
		if want == "" {
			require.Nil(t, got, text)
			continue
		}
		require.Equal(t, want, *got, text)
	}
	s := &envelopeHandler{subject: subject[envelopeStore]{shared: &shared{}}}
	o := objectOf(t, `{"name":" A\u200b ","email":" a@b.c ","authMethod":"sms_otp","routingOrder":3}`)
	in := s.signerInput(o)
	require.Equal(t, []any{"a@b.c", models.AuthSMSOTP, 3}, []any{in.Email, in.AuthMethod, in.RoutingOrder})
	require.Contains(t, o.p, "authMethod", "no text messages are sent here")
	o = objectOf(t, `{"name":"A","email":"a@b.c"}`)
	in = s.signerInput(o)
	require.Equal(t, []any{models.AuthEmailOTP, 1}, []any{in.AuthMethod, in.RoutingOrder})
	require.Empty(t, o.p)
}

// TestFieldRequests: who fills a field may be named by an index with or without quotes.
func TestFieldRequests(t *testing.T) {
	t.Parallel()
	const rest = `"type":"text","page":1,"x":1,"y":2,"w":3,"h":4`
	for ref, want := range map[string]string{`"0"`: "0", `1`: "1", `"x"`: "x"} {
		o := objectOf(t, `{"signerId":`+ref+`,`+rest+`}`)
		in := fieldInput(o, models.OriginTopLeft)
		require.Equal(t, want, in.SignerRef)
		require.Equal(t, models.OriginTopLeft, in.Origin)
		require.True(t, in.Required)
		require.Empty(t, o.p)
	}
	o := objectOf(t, `{"signerId":"0","origin":"bottom-left","required":false,`+rest+`}`)
	in := fieldInput(o, models.OriginTopLeft)
	require.Equal(t, models.OriginBottomLeft, in.Origin)
	require.False(t, in.Required)
	o = objectOf(t, `{`+rest+`}`)
	fieldInput(o, models.OriginTopLeft)
	require.Equal(t, models.Problems{"signerId": {"is required"}}, o.p)
}

// TestWebhookRequests: events once each, and secrets within their bounds.
func TestWebhookRequests(t *testing.T) {
	t.Parallel()
	o := objectOf(t, `{"events":["envelope.sent","envelope.sent","envelope.completed"]}`)
	require.Equal(t, []models.EventName{"envelope.sent", "envelope.completed"}, webhookEvents(o))
	require.Empty(t, o.p)
	o = objectOf(t, `{"events":["envelope.sent","nope",7]}`)
	require.Equal(t, []models.EventName{"envelope.sent"}, webhookEvents(o))
	require.Equal(t, models.Problems{"events[1]": {"is not a webhook event"}, "events[2]": {"is not a webhook event"}}, o.p)
	for _, n := range []int{0, 1, 100, 101} {
		list := `"envelope.sent"`
		o = objectOf(t, fmt.Sprintf(`{"events":[%s]}`, strings.Trim(strings.Repeat(list+",", n), ",")))
		webhookEvents(o)
		require.Equal(t, n == 0 || n == 101, len(o.p) > 0, "%d", n)
	}
	for text, ok := range map[string]bool{"null": true, `""`: false, `"x"`: true, `"` + strings.Repeat("x", 256) + `"`: true, `"` + strings.Repeat("x", 257) + `"`: false, `7`: false} {
		o := objectOf(t, `{"secret":`+text+`}`)
		webhookSecret(o)
		require.Equal(t, ok, len(o.p) == 0, "%.20s", text)
	}
	require.Empty(t, webhookSecret(objectOf(t, "{}")))
}

// TestSubmissions: texts must be drawable, pictures are decoded for the signer's own fields alone, each once.
func TestSubmissions(t *testing.T) {
	t.Parallel()
	picture, text, other := uuid.New(), uuid.New(), uuid.New()
	mine := func() map[uuid.UUID]models.FieldType {
		return map[uuid.UUID]models.FieldType{picture: models.FieldSignature, text: models.FieldText}
	}
	png := base64.StdEncoding.EncodeToString(testkit.Signature())
	read := func(body string) (models.Submission, models.Problems) {
		o := objectOf(t, body)
		sub := submission(o, mine(), new(seal.Pictures).Check)
		return sub, o.p
	}
	field := func(id uuid.UUID, rest string) string { return fmt.Sprintf(`{"fieldId":"%s",%s}`, id, rest) }
	sub, p := read(`{"fields":[` + field(picture, `"signatureImageBase64":"data:image/png;base64,`+png+`"`) + `,` + field(picture, `"signatureImageBase64":"`+png+`"`) + `,` + field(other, `"signatureImageBase64":"x"`) + `,` +
		field(text, `"signatureImageBase64":"","textValue":"yes"`) + `]}`)
	require.Empty(t, p)
	require.True(t, bytes.HasPrefix(sub.Fields[0].Image, []byte("\x89PNG")))
	require.Equal(t, undecodedPicture, sub.Fields[1].Image, "given a second time")
	require.Equal(t, undecodedPicture, sub.Fields[2].Image, "for somebody else's field")
	require.Nil(t, sub.Fields[3].Image)
	require.Equal(t, "yes", *sub.Fields[3].Text)
	for body, problems := range map[string]models.Problems{
		`{}`:                           {"fields": {"is required"}},
		`{"fields":[],"shown":"x"}`:    {"shown": {"must be the digest that the signing context gives: 64 lower-case hexadecimal digits"}},
		`{"fields":[{"fieldId":"x"}]}`: {"fields[0].fieldId": {"must be a UUID"}},
		`{"fields":[` + field(picture, `"signatureImageBase64":"?"`) + `]}`:    {"fields[0].signatureImageBase64": {"must be base64"}},
		`{"fields":[` + field(picture, `"signatureImageBase64":"AAAA"`) + `]}`: {"fields[0].signatureImageBase64": {"The picture is not a valid PNG."}},
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
