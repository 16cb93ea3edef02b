package clients_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// examples returns the code blocks on a page that are in the given language.
func examples(t *testing.T, path, language string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	require.NotEmpty(t, out, path)
	return out
}

// newcomer is a user with a clone of the repository in which a service is running.
type newcomer struct {
	s    *service
	root string
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	n := &newcomer{s: &service{}, root: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(n.root, "data"), 0o700))
	n.s.run(t, filepath.Join(n.root, "data"), "127.0.0.1:0")
	return n
}

// shell returns a command that runs a script in a new directory, the command's output, and the path of the directory.
// Only the standard environment variables are set. The script ends if a command fails or a variable is not set.
func (n *newcomer) shell(t *testing.T, script string) (cmd *exec.Cmd, out *kit.Buffer, dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(n.root, "data"), filepath.Join(dir, "data")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.Symlink(program(t), filepath.Join(dir, "bin/countersign")))
	docs, err := filepath.Abs("../../docs")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(docs, filepath.Join(dir, "docs")))
	cmd = exec.CommandContext(contextFor(t), "sh", "-euc", script)
	cmd.Dir, out = dir, &kit.Buffer{}
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out, dir
}

// signInvited waits for an invitation to an email address, and signs.
func (n *newcomer) signInvited(t *testing.T, email string) {
	t.Helper()
	link := ""
	require.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.s.InboxURL+"/api/messages?to="+email, http.NoBody)
		require.NoError(t, err)
		res, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		var mails []struct{ Links []string }
		require.NoError(t, json.NewDecoder(res.Body).Decode(&mails))
		for _, m := range mails {
			for _, l := range m.Links {
				if strings.HasPrefix(l, n.s.BaseURL+"/sign/") {
					link = l
				}
			}
		}
		return link != ""
	}, time.Minute, 50*time.Millisecond, "no invitation for %s", email)
	c := n.s.client(t)
	found, err := countersign.Answer(c.API.ListEnvelopesWithResponse(t.Context(), &api.ListEnvelopesParams{TenantID: "demo", SignerEmail: &email}))
	require.NoError(t, err)
	require.Len(t, found.Data, 1)
	e, err := c.Envelope(t.Context(), found.Data[0].ID)
	require.NoError(t, err)
	e.Signers[0].SigningURL = &link
	sign(t, n.s, e)
}

// TestReadme runs every command in the README and then in the guide, each block in a new shell.
func TestReadme(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	blocks := examples(t, "../../README.md", "sh")
	require.Len(t, blocks, 2)
	for i, email := range []string{"you@example.com", "ada@example.com"} {
		cmd, out, dir := n.shell(t, blocks[i])
		require.NoError(t, cmd.Start())
		n.signInvited(t, email)
		require.NoError(t, cmd.Wait(), "%s", out)
		sealed, err := os.ReadFile(filepath.Join(dir, []string{"signed.pdf", "sealed.pdf"}[i]))
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(sealed, []byte("%PDF-")))
		require.Contains(t, out.String(), []string{"\nVALID: ", n.s.InboxURL}[i])
	}

	guide := examples(t, "../../docs/build/guide.md", "sh")
	for i, want := range []string{"", `"signingUrl":"` + n.s.BaseURL, `"events":["envelope.completed"]`, ""} {
		script := guide[0]
		if i > 0 {
			script += guide[i]
		}
		cmd, out, _ := n.shell(t, script)
		require.NoError(t, cmd.Run(), "%s", out)
		require.Contains(t, out.String(), want)
	}
	require.Len(t, guide, 4)

	// An error is displayed and ends the script.
	cmd, out, _ := n.shell(t, strings.Replace(blocks[1], `"page": 1`, `"page": 7`, 1))
	require.Error(t, cmd.Run())
	require.Contains(t, out.String(), "fields[0].page")
}

// TestCommandsOfPages checks that the first commands on each page work with both GNU and BSD tools, and use existing
// make targets.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	gnu := regexp.MustCompile(`\b(stat -c|sed -[a-z]*[ir]|date -d|date --|readlink -f|base64 -w|grep -[a-zA-Z]*P|head -n -|mktemp --|sort -V|xargs -r|cp --|tac)\b`)
	for _, page := range []string{"../../README.md", "../../docs/build/guide.md", "../../CONTRIBUTING.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.NotRegexp(t, gnu, string(text), page)
		for _, m := range regexp.MustCompile("(?m)(?:^\\$ |`)make ([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			require.Regexp(t, `(?m)^`+m[1]+`:`, string(makefile), "%s: make %s", page, m[1])
		}
	}
}

// TestLibraryReadmes_RunAsWritten runs the first example in the README of each library.
func TestLibraryReadmes_RunAsWritten(t *testing.T) {
	t.Parallel()
	f := newFixtures(t)
	node := nodePackage(t)
	require.NoError(t, os.WriteFile(filepath.Join(node, "first.mjs"), []byte(examples(t, "../../clients/typescript/README.md", "js")[0]), 0o600))
	for language, args := range map[string][]string{
		"go": {buildGo(t, examples(t, "../../clients/go/README.md", "go")[0])},
		"ts": {"node", filepath.Join(node, "first.mjs")},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = f.dir(t, nil)
		cmd.Env = f.s.env()
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		require.NoError(t, err, "%s: %s", language, said.String())
		require.True(t, strings.HasPrefix(string(out), "sent "), "%s prints %s", language, out)
	}
}
