package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/clients/go/api"
)

// TestDev_SurvivesARestart checks that envelopes created before Ctrl-C continue after a restart.
func TestDev_SurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, p := dev(t, dir)
	id := s.app(t).send(t, agreement("Ada Lovelace", "ada@example.com"))
	token := s.signingLink(t, "ada@example.com")
	before := time.Now()
	p.stop(t)
	assert.True(t, p.cmd.ProcessState.Success(), "Ctrl-C must not be reported as a failure: %s", p.out)
	assert.Less(t, time.Since(before), 20*time.Second)
	for _, url := range []string{s.BaseURL, s.InboxURL, s.UI} {
		_, err := get(t, url)
		require.Error(t, err, "%s still responds after Ctrl-C", url)
	}

	again, p := dev(t, dir)
	assert.Equal(t, s.ClientID, again.ClientID, "the demo application must be the same")
	assert.Equal(t, s.ClientSecret, again.ClientSecret)
	got := (&client{base: again.BaseURL, token: s.tokens[0]}).call(t, http.StatusOK, http.MethodGet, "/v1/envelopes/"+id.String(), nil)
	assert.Equal(t, "sent", got.str("status"), "the access token must still be valid")
	again.sign(t, token, "")
	again.awaitMail(t, "ada@example.com", func(m message) bool { return len(m.Attachments) == 1 })
	p.stop(t)
}

func contract() object {
	return object{
		"tenantId": "acme", "subject": "Contract",
		"signers": []object{{"name": "Ada Lovelace", "email": "ada@example.com", "authMethod": "none"}},
		"fields":  []object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 300, "w": 160, "h": 50}},
	}
}

func TestDev_ReportsWhyItCannotStart(t *testing.T) {
	t.Parallel()
	taken := listen(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("not a directory"), 0o600))
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "countersign.db"), []byte(strings.Repeat("this is no database ", 500)), 0o600))
	for name, c := range map[string]struct {
		args []string
		env  []string
		want []string
	}{
		"taken port":       {args: []string{"--listen", taken.Addr().String(), "--data-dir", t.TempDir()}, want: []string{taken.Addr().String(), "address already in use"}},
		"file as data dir": {args: []string{"--data-dir", file}, want: []string{file, "data directory"}},
		"broken database":  {args: []string{"--listen", "127.0.0.1:0", "--data-dir", broken}, want: []string{"not a database"}},
		"bad settings": {
			args: []string{"--listen", "127.0.0.1:0", "--data-dir", t.TempDir()},
			env:  []string{"COUNTERSIGN_RATE_LIMIT=many", "COUNTERSIGN_BLOB_URL=ftp://x", "COUNTERSIGN_WEBHOOK_SCHEDULE=1s,2s", "COUNTERSIGN_TYPO=1"},
			want: []string{"COUNTERSIGN_RATE_LIMIT", "COUNTERSIGN_BLOB_URL", "COUNTERSIGN_WEBHOOK_SCHEDULE", "COUNTERSIGN_TYPO"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, c.env, append([]string{"dev"}, c.args...)...)
			require.Error(t, err)
			for _, want := range c.want {
				assert.Contains(t, out, want)
			}
			assert.NotContains(t, out, "goroutine", "the output must contain no stack trace")
			assert.Less(t, strings.Count(out, "\n"), 12, "short: %s", out)
		})
	}
}

// TestDev_TwoServicesSideBySide runs two services at the same time. Their ports, except the API's, must be chosen
// automatically unless they are configured. Only one service may use a data directory at a time.
func TestDev_TwoServicesSideBySide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, _ := dev(t, dir)
	b, _ := dev(t, t.TempDir())
	for _, s := range []*service{a, b} {
		_, err := s.app(t).API.GetCurrentUserWithResponse(t.Context())
		require.NoError(t, err)
	}
	out, err := run(t, nil, "dev", "--listen", "127.0.0.1:0", "--data-dir", dir)
	require.Error(t, err)
	assert.Contains(t, out, "another countersign process is using "+dir)

	made, err := run(t, nil, "app", "create", "--data-dir", dir, "--name", "Second", "--plan", "pro", "--tenant", "t1", "--json")
	require.NoError(t, err, made)
	var second service
	require.NoError(t, json.Unmarshal([]byte(made), &second))
	second.BaseURL = a.BaseURL
	c := second.app(t)
	_, err = c.API.ListEnvelopesWithResponse(t.Context(), &api.ListEnvelopesParams{TenantID: "t1"})
	require.NoError(t, err)
	_, err = c.API.ListEnvelopesWithResponse(t.Context(), &api.ListEnvelopesParams{TenantID: "t2"})
	rejected(t, http.StatusForbidden, err)

	out, err = run(t, nil, "version")
	require.NoError(t, err)
	assert.NotEmpty(t, strings.TrimSpace(out))
}
