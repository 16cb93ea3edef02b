package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestSupportURL_IsAPlainHTTPSAddress: mails and pages link to it, so nothing in it is hidden and it holds no login.
func TestSupportURL_IsAPlainHTTPSAddress(t *testing.T) {
	t.Parallel()
	const good = "https://example.com/help"
	for text, want := range map[string]bool{
		good: true, good + "/" + strings.Repeat("x", 500-len(good)-1): true, good + "/" + strings.Repeat("x", 500-len(good)): false,
		"http://example.com/help": false, "javascript:alert(1)": false, "https://": false, "https://user@example.com/": false,
		"https://example.com/\u202ehelp": false, "https://example.com/he\u200blp": false, "help": false, "": false,
	} {
		problems := refused(func(p models.Problems) { (&models.Settings{SupportURL: &text}).Check(p) })
		require.Equal(t, want, len(problems) == 0, "%q: %v", text, problems)
	}
}
