package clients_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/test/kit"
)

// cli is a command-line user with a home directory.
type cli struct {
	home string
	env  []string
}

func (c *cli) command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, program(t), args...)
	cmd.Env = append([]string{"HOME=" + c.home, "XDG_CONFIG_HOME=" + c.home, "PATH=" + os.Getenv("PATH")}, c.env...)
	cmd.Dir = c.home
	return cmd
}

// run runs a command, and returns its exit code, standard output and standard error.
func (c *cli) run(t *testing.T, stdin string, args ...string) (code int, out, said string) {
	t.Helper()
	cmd := c.command(t.Context(), t, args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &o, &e, strings.NewReader(stdin)
	err := cmd.Run()
	if err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

func (c *cli) must(t *testing.T, args ...string) string {
	t.Helper()
	code, out, said := c.run(t, "", args...)
	require.Zero(t, code, "%v: %s", args, said)
	return out
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir()}
	pdf := filepath.Join(c.home, "contract.pdf")
	require.NoError(t, os.WriteFile(pdf, kit.OnePage(), 0o600))
	text := filepath.Join(c.home, "letter.txt")
	require.NoError(t, os.WriteFile(text, []byte("Dear Ada"), 0o600))

	// The user is initially not logged in, then fails to log in, and then logs in.
	code, _, said := c.run(t, "", "list")
	require.Equal(t, 3, code)
	require.Contains(t, said, "countersign login")
	code, _, said = c.run(t, "wrong\n", "login", s.BaseURL, "--client-id", s.ClientID)
	require.Equal(t, 3, code, said)
	code, _, said = c.run(t, "x\n", "login", "http://127.0.0.1:9", "--client-id", s.ClientID)
	require.Equal(t, 5, code, said)
	require.Contains(t, said, "check that the service is running")
	code, out, said := c.run(t, s.ClientSecret+"\n", "login", s.BaseURL, "--client-id", s.ClientID)
	require.Zero(t, code, said)
	require.Contains(t, out, "tenant main.")
	code, out, said = c.run(t, s.ClientSecret+"\n", "login", s.BaseURL, "--client-id", s.ClientID, "--tenant", "acme")
	require.Zero(t, code, said)
	require.NotContains(t, out+said, s.ClientSecret)
	kept := filepath.Join(c.home, "countersign", "login.json")
	st, err := os.Stat(kept)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, st.Mode().Perm())

	// A credentials file that other users can read is not used, and the secret is not sent to any other address.
	require.NoError(t, os.Chmod(kept, 0o644))
	code, _, said = c.run(t, "", "list")
	require.Equal(t, 3, code)
	require.Contains(t, said, "chmod 600")
	require.NoError(t, os.Chmod(kept, 0o600))
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	code, _, _ = c.run(t, "", "list", "--url", elsewhere.URL)
	require.Equal(t, 3, code)
	require.False(t, reached)

	// Send documents, including invalid ones.
	code, _, said = c.run(t, "", "send", text, "--to", "Ada <ada@example.com>")
	require.Equal(t, 1, code)
	require.Contains(t, said, "letter.txt is not a PDF")
	code, _, said = c.run(t, "", "send", pdf, "--to", "Ada Lovelace")
	require.Equal(t, 1, code)
	require.Contains(t, said, "write it as")
	code, _, said = c.run(t, "", "send", pdf, "--to", "Ada <ada@example.com>", "--field", "nonsense:0:1:72:72:90:40")
	require.Equal(t, 2, code)
	require.Contains(t, said, "fields[0].type")
	var sent countersign.Envelope
	code, _, said = c.run(t, "", "send", pdf, "--to", "Ada <ada@example.com>", "--field", "signature@1:68,505")
	require.Equal(t, 1, code)
	require.Contains(t, said, `--field "signature@1:68,505"`, "the whole argument, not only the part before a comma")
	other := &cli{home: c.home, env: []string{"COUNTERSIGN_URL=" + s.BaseURL, "COUNTERSIGN_CLIENT_ID=" + s.ClientID, "COUNTERSIGN_CLIENT_SECRET=wrong", "COUNTERSIGN_TENANT=acme"}}
	code, _, said = other.run(t, "", "list")
	require.Equal(t, 3, code)
	require.Equal(t, 1, strings.Count(said, "countersign: "), said)
	out = c.must(t, "send", pdf, "--to", "Ada <ada@example.com>", "--to", "Grace <grace@example.com>", "--no-code", "--subject", "Lease", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &sent))
	require.EqualValues(t, "sent", sent.Status)
	require.Len(t, sent.Signers, 2)
	require.NotContains(t, out, "signingUrl", "signing links must not be printed")
	id := sent.ID.String()
	out = c.must(t, "status", id)
	require.Contains(t, out, "grace@example.com")
	require.Contains(t, out, "envelope.sent")
	require.NotContains(t, out, "\x1b")
	require.Contains(t, c.must(t, "list", "--status", "sent"), id)
	require.Contains(t, c.must(t, "remind", id), "reminded")
	code, _, _ = c.run(t, "", "status", uuid.NewString())
	require.Equal(t, 4, code)
	code, _, said = c.run(t, "", "download", id)
	require.Equal(t, 2, code, said)
	code, _, said = c.run(t, "", "void", id)
	require.Equal(t, 1, code)
	require.Contains(t, said, "--yes")
	require.Contains(t, c.must(t, "void", id, "--yes", "--reason", "No."), "voided")
	code, _, said = c.run(t, "", "remind", id)
	require.Equal(t, 2, code)
	require.Contains(t, said, "voided")

	// Wait until the envelope is sealed.
	draft := strings.Fields(c.must(t, "send", pdf, "--to", "Ada <ada@example.com>", "--no-code", "--draft"))[0]
	app := s.client(t)
	opened, err := app.Send(t.Context(), uuid.MustParse(draft), "")
	require.NoError(t, err)
	code, out, said = c.run(t, "", "send", pdf, "--to", "Ada <ada@example.com>", "--no-code", "--wait", "--timeout", "1s", "--json")
	require.Equal(t, 7, code)
	var waited countersign.Envelope
	require.NoError(t, json.Unmarshal([]byte(out), &waited), "the message must contain the id of the sent envelope")
	require.EqualValues(t, "sent", waited.Status)
	require.Contains(t, said, "the envelope "+waited.ID.String()+" continues")
	require.NotContains(t, out, "signingUrl")
	interrupted := c.command(t.Context(), t, "send", pdf, "--to", "Ada <ada@example.com>", "--no-code", "--wait", "--json")
	stderr, err := interrupted.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, interrupted.Start())
	lines := bufio.NewReader(stderr)
	known, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, interrupted.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Error(t, interrupted.Wait())
	require.Equal(t, 130, interrupted.ProcessState.ExitCode())
	require.Contains(t, string(rest), "interrupted; the envelope "+strings.Fields(known)[0]+" continues")
	require.NotContains(t, string(rest), "check that the service is running")

	// An output file that cannot be written is rejected before anyone is invited.
	before := c.must(t, "list")
	for want, args := range map[string][]string{
		"--out requires --wait": {"--out", "new.pdf"},
		"exists":                {"--wait", "--out", pdf},
		"folder does not exist": {"--wait", "--out", "nowhere/new.pdf"},
		"--draft":               {"--wait", "--draft"},
	} {
		code, _, said := c.run(t, "", append([]string{"send", pdf, "--to", "Ada <ada@example.com>"}, args...)...)
		require.NotZero(t, code, args)
		require.Contains(t, said, want)
	}
	require.Equal(t, before, c.must(t, "list"))
	sign(t, s, opened)
	_, err = app.WaitUntilCompleted(t.Context(), opened.ID)
	require.NoError(t, err)
	sealed := filepath.Join(c.home, "sealed.pdf")
	c.must(t, "download", draft, "--out", sealed)
	b, err := os.ReadFile(sealed)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(b, []byte("%PDF-")))
	code, _, _ = c.run(t, "", "download", draft, "--out", sealed)
	require.Equal(t, 1, code, "no file is overwritten")
	require.Contains(t, c.must(t, "completion", "bash"), "listen")
}

func TestListenForwards(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	var mu sync.Mutex
	var got []string
	hooks := httptest.NewServer(countersign.WebhookHandler(func(_ context.Context, e *countersign.Event) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(e.Event))
		return nil
	}, "local secret"))
	defer hooks.Close()
	heard := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), got...)
	}
	app := s.client(t)
	e, err := app.Create(t.Context(), request("Before"))
	require.NoError(t, err)
	var first uuid.UUID
	for ev, err := range app.ReadEvents(t.Context(), countersign.EventOptions{}) {
		require.NoError(t, err)
		first = ev.ID
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := c.command(ctx, t, "listen", "--forward", hooks.URL, "--secret", "local secret", "--after", first.String())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = app.Void(t.Context(), e.ID, "")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(heard()) == 1 }, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, []string{"envelope.voided"}, heard())
	printed, err := bufio.NewReader(out).ReadString('\n') // the line is printed only after the endpoint has responded
	require.NoError(t, err)
	require.Contains(t, printed, "envelope.voided")
	require.Contains(t, printed, "204")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), "Ctrl-C must end the command")

	c.must(t, "replay", "--since", "1h", "--forward", hooks.URL, "--secret", "local secret")
	require.Equal(t, []string{"envelope.voided", "envelope.created", "envelope.voided"}, heard())
	for _, name := range []string{"envelope.created", "envelope.sent", "envelope.completed", "envelope.declined", "envelope.voided", "envelope.expired", "signer.viewed", "signer.signed", "signer.declined", "signer.otp_failed"} {
		c.must(t, "trigger", name, "--forward", hooks.URL, "--secret", "local secret")
		require.Equal(t, name, heard()[len(heard())-1])
	}
	code, _, said := c.run(t, "", "trigger", "envelope.eaten", "--forward", hooks.URL)
	require.Equal(t, 1, code)
	require.Contains(t, said, "not a webhook event")
	code, _, _ = c.run(t, "", "trigger", "envelope.sent", "--forward", hooks.URL, "--secret", "another")
	require.Equal(t, 2, code)
}
