package clients_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
)

// examples are the blocks of a page in one language.
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

// TestReadme does what the README tells somebody who begins: its commands, the
// signature in between, and the comparison at the end of the guide.
func TestReadme(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"data", "docs", "bin"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o700))
	}
	require.NoError(t, os.Symlink(program(t), filepath.Join(root, "bin/countersign")))
	pdf, err := os.ReadFile("../../docs/contract.pdf")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs/contract.pdf"), pdf, 0o600))
	s := &service{}
	s.run(t, filepath.Join(root, "data"), "127.0.0.1:0")

	blocks := examples(t, "../../README.md", "sh")
	require.Len(t, blocks, 2)
	wait := "\ntouch sent\nuntil [ -e signed ]; do sleep 0.1; done\n"
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", blocks[0]+wait+blocks[1])
	cmd.Dir = root
	var out, said output
	cmd.Stdout, cmd.Stderr = &out, &said
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	data := func(name string) string { return filepath.Join(root, "data", name) }
	require.Eventually(t, func() bool {
		_, err := os.Stat(data("sent"))
		return err == nil || len(ended) > 0
	}, time.Minute, 50*time.Millisecond)
	require.FileExists(t, data("sent"), "%s%s", out.String(), said.String())
	answer, err := os.ReadFile(data("answer.json"))
	require.NoError(t, err)
	var sent countersign.Envelope
	require.NoError(t, json.Unmarshal(answer, &sent), "%s", answer)
	require.Contains(t, out.String(), s.InboxURL)
	sign(t, s, &sent)
	_, err = s.client(t).WaitUntilCompleted(contextFor(t), sent.ID)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(data("signed"), nil, 0o600))
	require.NoError(t, <-ended, "%s%s", out.String(), said.String())
	require.Contains(t, out.String(), "\nVALID: ", "what countersign verify says")

	require.NoError(t, os.Rename(data("sealed.pdf"), filepath.Join(root, "sealed.pdf")))
	token := accessToken(t, s)
	for i, want := range []string{`"access_token"`, `"events":["envelope.completed"]`, ""} {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", examples(t, "../../docs/guide.md", "sh")[i])
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "API="+s.BaseURL, "CLIENT_ID="+s.ClientID, "CLIENT_SECRET="+s.ClientSecret, "TOKEN="+token)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), want)
	}
}

// TestReadmesOfTheLibraries runs the first example of each library.
func TestReadmesOfTheLibraries(t *testing.T) {
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
