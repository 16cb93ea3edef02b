package templates

import (
	"bytes"
	"image"
	"image/png"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/contrast"
)

func logoOf(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, w, h))))
	return b.Bytes()
}

// TestBranding_Colors checks that every email to a recipient has the sender's branding, loads no external content, and is legible
// in any color.
func TestBranding_Colors(t *testing.T) {
	t.Parallel()
	color, footer, help := "#0000FF", "Acme Ltd <b>\nHigh Street 1", "https://acme.example/help?a=1&b=2"
	look, err := NewBranding(&color, &footer, &help, logoOf(t, 720, 90))
	require.NoError(t, err)
	at := time.Date(2026, 12, 5, 7, 15, 0, 0, time.UTC)
	for name, m := range map[string]interface{ Render() (Content, error) }{
		"invitation": Invitation{Branding: look, SenderName: "Acme", Message: "Hi", SigningURL: "https://sign.example.com/x"},
		"reminder":   Reminder{Branding: look, SenderName: "Acme", SigningURL: "https://sign.example.com/x"},
		"code":       Code{Branding: look, SenderName: "Acme", Code: "123456"},
		"completed":  Completed{Branding: look, SenderName: "Acme", CompletedAt: at, VerifyURL: "https://sign.example.com/verify"},
		"closed":     Closed{Branding: look, SenderName: "Acme", Kind: Voided, At: at},
		"deletion":   DeletionReminder{Branding: look, SenderName: "Acme", DownloadURL: "https://sign.example.com/d", PurgeOn: at},
	} {
		got, err := m.Render()
		require.NoError(t, err, name)
		assert.Contains(t, got.HTML, `<img src="cid:logo" width="240" height="30" alt="Acme"`, name)
		assert.Equal(t, 1, strings.Count(got.HTML, "<img"), name)
		assert.Contains(t, got.HTML, "Acme Ltd &lt;b&gt;<br>High Street 1", name)
		assert.Contains(t, got.HTML, `href="https://acme.example/help?a=1&amp;b=2"`, name)
		assert.Contains(t, got.Text, "Acme Ltd <b>\nHigh Street 1\nHelp: https://acme.example/help?a=1&b=2", name)
		assert.NotContains(t, got.HTML, "ZgotmplZ", name)
		assert.NotContains(t, got.HTML, defaultFill, name)
		assert.NotContains(t, got.HTML, defaultDark, name)
	}
	got, err := Invitation{Branding: look, SigningURL: "https://sign.example.com/x"}.Render()
	require.NoError(t, err)
	assert.Contains(t, got.HTML, `bgcolor="#0000ff" style="background:#0000ff;`)
	dark := regexp.MustCompile(`\.fill \{ background: (#[0-9a-f]{6}) !important; \}`).FindStringSubmatch(got.HTML)
	require.NotNil(t, dark)
	for _, ground := range []string{"#06222d", "#172027", "#1d2a33", "#0e1419"} {
		assert.GreaterOrEqual(t, contrastOf(t, dark[1], ground), contrast.Minimum, ground)
	}
	assert.GreaterOrEqual(t, contrastOf(t, look.Accent(), "#f3f5f6"), contrast.Minimum)
}

// TestNewBranding_HostileValues_AreRejected checks that the templates render settings safely even if the validation
// rules would reject them.
func TestNewBranding_HostileValues_AreRejected(t *testing.T) {
	t.Parallel()
	got, err := Invitation{Branding: Branding{
		Color: "#000;background:url(x)", Footer: "<script>\u202e\r\nBcc: x", SupportURL: "javascript:alert(1)",
	}, SigningURL: "https://sign.example.com/x"}.Render()
	require.NoError(t, err)
	for _, bad := range []string{"url(", "<script", "javascript:", "\u202e", "<img"} {
		assert.NotContains(t, got.HTML, bad)
	}
	assert.Contains(t, got.HTML, defaultFill)
	broken, footer := []byte("no picture"), "x"
	_, err = NewBranding(nil, &footer, nil, broken)
	require.ErrorContains(t, err, "logo")
}
