package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

func ptr[T any](v T) *T { return &v }

// refused is the paths of what was noted.
func refused(note func(p models.Problems)) []string {
	p := models.Problems{}
	note(p)
	out := []string{}
	for path := range p {
		out = append(out, path)
	}
	return out
}

// TestSettingsAreBounded: each choice at its edges, and nothing chosen is right.
func TestSettingsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for name, tries := range map[string][]struct {
		s    models.Settings
		good bool
	}{
		"": {{models.Settings{}, true}},
		"defaultExpiryDays": {
			{models.Settings{DefaultExpiryDays: ptr(0)}, false},
			{models.Settings{DefaultExpiryDays: ptr(1)}, true},
			{models.Settings{DefaultExpiryDays: ptr(3650)}, true},
			{models.Settings{DefaultExpiryDays: ptr(3651)}, false},
		},
		"reminderIntervalHours": {
			{models.Settings{ReminderIntervalHours: ptr(-1)}, false},
			{models.Settings{ReminderIntervalHours: ptr(0)}, true},
			{models.Settings{ReminderIntervalHours: ptr(8760)}, true},
			{models.Settings{ReminderIntervalHours: ptr(8761)}, false},
		},
		"retentionDays": {
			{models.Settings{RetentionDays: ptr(-1)}, false},
			{models.Settings{RetentionDays: ptr(0)}, true},
			{models.Settings{RetentionDays: ptr(36500)}, true},
			{models.Settings{RetentionDays: ptr(36501)}, false},
		},
		"fieldOrigin": {
			{models.Settings{FieldOrigin: ptr(models.OriginTopLeft)}, true},
			{models.Settings{FieldOrigin: ptr(models.OriginBottomLeft)}, true},
			{models.Settings{FieldOrigin: ptr(models.Origin("middle"))}, false},
		},
		"senderName": {
			{models.Settings{SenderName: ptr("")}, false},
			{models.Settings{SenderName: ptr(long[1:])}, true},
			{models.Settings{SenderName: &long}, false},
		},
		"language": {
			{models.Settings{Language: ptr("ja")}, true},
			{models.Settings{Language: ptr("tlh")}, false},
		},
		"replyTo":     {{models.Settings{ReplyTo: ptr("a@example.com")}, true}, {models.Settings{ReplyTo: ptr("nobody")}, false}},
		"notifyEmail": {{models.Settings{NotifyEmail: ptr("a@example.com")}, true}, {models.Settings{NotifyEmail: ptr("nobody")}, false}},
	} {
		for _, try := range tries {
			if want := []string{name}; try.good {
				require.Empty(t, refused(try.s.Check), name)
			} else {
				require.Equal(t, want, refused(try.s.Check))
			}
		}
	}
}

// TestSettingsWithDefaults: a tenant's choice comes before its app's, one by one, and then that of the service.
func TestSettingsWithDefaults(t *testing.T) {
	t.Parallel()
	upper := models.Settings{
		DefaultExpiryDays: ptr(1), ReminderIntervalHours: ptr(2), RetentionDays: ptr(3), FieldOrigin: ptr(models.OriginBottomLeft),
		SenderName: ptr("a"), Language: ptr("de"), ReplyTo: ptr("a@example.com"), NotifyEmail: ptr("b@example.com"),
		PrimaryColor: ptr("#112233"), Footer: ptr("f"), SupportURL: ptr("https://a.example"), LogoSHA256: ptr("aa"),
	}
	lower := models.Settings{
		DefaultExpiryDays: ptr(10), ReminderIntervalHours: ptr(20), RetentionDays: ptr(30), FieldOrigin: ptr(models.OriginTopLeft),
		SenderName: ptr("b"), Language: ptr("fr"), ReplyTo: ptr("c@example.com"), NotifyEmail: ptr("d@example.com"),
		PrimaryColor: ptr("#445566"), Footer: ptr("g"), SupportURL: ptr("https://b.example"), LogoSHA256: ptr("bb"),
	}
	require.Equal(t, upper, upper.WithDefaults(lower))
	require.Equal(t, upper, models.Settings{}.WithDefaults(upper))
	require.Equal(t, upper, upper.WithDefaults(models.Settings{}))
	none := &models.Settings{}
	require.Equal(t, []any{"en", time.Minute, "App"}, []any{none.LanguageOrDefault(), none.ReminderInterval(time.Minute), none.SenderOrDefault("App")})
	require.Equal(t, []any{"de", 2 * time.Hour, "a"}, []any{upper.LanguageOrDefault(), upper.ReminderInterval(time.Minute), upper.SenderOrDefault("App")})
}

// TestTextsAreBounded: in characters, not bytes, and without what is not seen.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	for text, good := range map[string][2]bool{ // as text, as paragraph
		"":         {false, false},
		"a":        {false, false},
		"ab":       {true, true},
		"äöüß€":    {true, true},
		"abcdef":   {false, false},
		"   ":      {false, false},
		" a ":      {true, true},
		"a\nb":     {false, true},
		"a\rb":     {false, true},
		"a\tb":     {false, true},
		"a\x00b":   {false, false},
		"a\u202eb": {false, false},
		"a\u200bb": {false, false},
		"ab\xff":   {false, false},
		"\n\n\n":   {false, false},
	} {
		require.Equal(t, good[0], len(refused(func(p models.Problems) { models.CheckText(p, "x", text, 2, 5) })) == 0, "text %q", text)
		require.Equal(t, good[1], len(refused(func(p models.Problems) { models.CheckParagraph(p, "x", text, 2, 5) })) == 0, "paragraph %q", text)
	}
	require.Empty(t, refused(func(p models.Problems) { models.CheckText(p, "x", "  ", 0, 5) }), "blanks, where nothing is asked for")
}

// TestAddresses: which texts are an address, and how much of one is shown.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"a@example.com": true, "ä@example.com": true, "a+b@sub.example.com": true, strings.Repeat("a", 242) + "@example.com": true,
		strings.Repeat("a", 243) + "@example.com": false, "": false, "a": false, "a@": false, "@example.com": false, "A <a@example.com>": false,
		" a@example.com": false, "a@example.com, b@example.com": false, "a\u200b@example.com": false, "\"a b\"@example.com": false,
	} {
		require.Equal(t, good, len(refused(func(p models.Problems) { models.CheckEmail(p, "x", address) })) == 0, address)
	}
	for address, masked := range map[string]string{"ada@example.com": "a***@example.com", "ä@example.com": "ä***@example.com", "@example.com": "***", "nobody": "***", "": "***"} {
		require.Equal(t, masked, (&models.Signer{Email: address}).MaskedEmail(), address)
	}
	require.Empty(t, (&models.Signer{}).MaskedPhone())
	for phone, masked := range map[string]string{"+49": "", "+491": "***91", "+4915112345678": "***78"} {
		require.Equal(t, masked, (&models.Signer{Phone: &phone}).MaskedPhone(), phone)
	}
}

// TestSignersAreBounded: name, address, phone and place in the order.
func TestSignersAreBounded(t *testing.T) {
	t.Parallel()
	good := models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1, AuthMethod: models.AuthEmailOTP}
	with := func(change func(in *models.SignerInput)) []string {
		in := good
		change(&in)
		return refused(func(p models.Problems) { in.Check(p, "s.") })
	}
	for want, changes := range map[string][]func(in *models.SignerInput){
		"": {
			func(*models.SignerInput) {},
			func(in *models.SignerInput) { in.RoutingOrder = 1000 },
			func(in *models.SignerInput) { in.Name = strings.Repeat("n", 255) },
			func(in *models.SignerInput) { in.Phone = ptr("+1234567") },
			func(in *models.SignerInput) { in.Phone = ptr("+123456789012345") },
			func(in *models.SignerInput) { in.AuthMethod = models.AuthNone },
			func(in *models.SignerInput) { in.AuthMethod, in.Phone = models.AuthSMSOTP, ptr("+4915112345678") },
		},
		"s.name":  {func(in *models.SignerInput) { in.Name = "" }, func(in *models.SignerInput) { in.Name = strings.Repeat("n", 256) }},
		"s.email": {func(in *models.SignerInput) { in.Email = "" }},
		"s.phone": {
			func(in *models.SignerInput) { in.Phone = ptr("") },
			func(in *models.SignerInput) { in.Phone = ptr("+123456") },
			func(in *models.SignerInput) { in.Phone = ptr("+1234567890123456") },
			func(in *models.SignerInput) { in.Phone = ptr("+0234567") },
			func(in *models.SignerInput) { in.Phone = ptr("4915112345678") },
			func(in *models.SignerInput) { in.AuthMethod = models.AuthSMSOTP },
		},
		"s.routingOrder": {func(in *models.SignerInput) { in.RoutingOrder = 0 }, func(in *models.SignerInput) { in.RoutingOrder = 1001 }},
		"s.authMethod":   {func(in *models.SignerInput) { in.AuthMethod = "" }, func(in *models.SignerInput) { in.AuthMethod = "pigeon" }},
	} {
		for i, change := range changes {
			if want == "" {
				require.Empty(t, with(change), i)
			} else {
				require.Equal(t, []string{want}, with(change), i)
			}
		}
	}
	e := draft(t, nil, models.AuthNone, 1)
	for len(e.Signers) < models.MaxSigners {
		s, err := e.AddSigner(act(start), signer(len(e.Signers), 1, models.AuthNone))
		require.NoError(t, err)
		require.Equal(t, len(e.Signers)-1, s.Position)
		last := e.Events[len(e.Events)-1]
		require.Equal(t, models.EventSignerAdded, last.Name)
		require.Equal(t, s.ID, last.SignerID)
	}
	_, err := e.AddSigner(act(start), signer(1, 1, models.AuthNone))
	require.Equal(t, "validation_error", code(t, err))
	require.Len(t, e.Signers, models.MaxSigners)
	_, err = draft(t, nil, models.AuthNone, 1).AddSigner(act(start), models.SignerInput{})
	require.Equal(t, "validation_error", code(t, err))
}

// TestOneMailboxIsOnePerson: whoever shares an address with an earlier signer, in whatever case, is the same mailbox.
func TestOneMailboxIsOnePerson(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone)
	for i, c := range []struct {
		email string
		want  int
	}{{"a@example.com", 0}, {"b@example.com", 1}, {"A@Example.com", 0}, {"c@example.com", 3}, {"b@example.com", 1}} {
		in := signer(i, 1, models.AuthNone)
		in.Email = c.email
		s, err := e.AddSigner(act(start), in)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Mailbox, i)
	}
}

// TestEnvelopesAreBounded: what an envelope is made from.
func TestEnvelopesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for name, tries := range map[string]map[bool][]models.Envelope{
		"expiresInDays": {
			true:  {{TenantID: "t", CreatedBy: "c", ExpiresInDays: ptr(1)}, {TenantID: "t", CreatedBy: "c", ExpiresInDays: ptr(3650)}, {TenantID: "t", CreatedBy: "c"}},
			false: {{TenantID: "t", CreatedBy: "c", ExpiresInDays: ptr(0)}, {TenantID: "t", CreatedBy: "c", ExpiresInDays: ptr(3651)}},
		},
		"tenantId":  {true: {{TenantID: long[1:], CreatedBy: "c"}}, false: {{TenantID: long, CreatedBy: "c"}, {CreatedBy: "c"}}},
		"createdBy": {true: {{TenantID: "t", CreatedBy: long[1:]}}, false: {{TenantID: "t", CreatedBy: long}, {TenantID: "t"}}},
		"subject": {
			true:  {{TenantID: "t", CreatedBy: "c", Subject: ptr(long[1:])}, {TenantID: "t", CreatedBy: "c", Subject: ptr("")}},
			false: {{TenantID: "t", CreatedBy: "c", Subject: &long}},
		},
	} {
		for _, in := range tries[true] {
			require.Empty(t, refused(in.Check), name)
			e, err := models.NewEnvelope(act(start), in)
			require.NoError(t, err)
			require.Equal(t, models.OriginTopLeft, e.FieldOrigin)
			require.Equal(t, in.ExpiresInDays == nil, e.ExpiresAt == nil)
			require.Equal(t, []models.EventName{models.EventEnvelopeCreated}, names(e))
		}
		for _, in := range tries[false] {
			require.Equal(t, []string{name}, refused(in.Check))
			_, err := models.NewEnvelope(act(start), in)
			require.Equal(t, "validation_error", code(t, err))
		}
	}
	noted := models.Problems{"tenantId": {"is noted"}, "createdBy": {"is noted"}}
	new(models.Envelope).Check(noted)
	require.Equal(t, models.Problems{"tenantId": {"is noted"}, "createdBy": {"is noted"}}, noted, "nothing is noted twice")
	e, err := models.NewEnvelope(act(start), models.Envelope{TenantID: "t", CreatedBy: "c", FieldOrigin: models.OriginBottomLeft})
	require.NoError(t, err)
	require.Equal(t, models.OriginBottomLeft, e.FieldOrigin)
}

// TestPlacesOfFields: on the page that there is, half a point over its edge at most, for a signer who can be told.
func TestPlacesOfFields(t *testing.T) {
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
			require.Empty(t, refused(func(p models.Problems) { in.Check(p, "f.", emails) }), name)
			continue
		}
		var refusal *models.Error
		require.ErrorAs(t, err, &refusal, name)
		require.Contains(t, refusal.Fields, c.bad, name)
		require.Len(t, e.Fields, before, name)
		if c.bad == "signerId" || c.bad == "type" || c.bad == "w" {
			require.Equal(t, []string{"f." + c.bad}, refused(func(p models.Problems) { in.Check(p, "f.", emails) }), name)
		}
	}
	e := draft(t, nil, models.AuthNone, 1)
	shared := signer(0, 1, models.AuthNone)
	_, err := e.AddSigner(act(start), shared)
	require.NoError(t, err)
	_, err = e.AddFields(act(start), []models.FieldInput{field(shared.Email, models.FieldText)}, models.NoPrefix)
	require.Equal(t, "validation_error", code(t, err), "two signers share the address")

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
