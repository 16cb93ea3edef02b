package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// TestInstallGuide_CommandsAreAccepted checks that the program accepts every command in docs/run/install.md, including
// its flags.
func TestInstallGuide_CommandsAreAccepted(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/run/install.md")
	require.NoError(t, err)
	word := regexp.MustCompile(`'[^']*'|[^\s']+`)
	found := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		m := regexp.MustCompile(`^\$ .*?\b(?:countersign:local|-- countersign|api countersign|env; countersign|^\$ (?:sudo )?countersign) ((?:setup|login|send|verify|app|doctor)\b.*)$`).FindStringSubmatch(line)
		if m == nil {
			m = regexp.MustCompile(`^\$ (?:sudo )?countersign (.*)$`).FindStringSubmatch(line)
		}
		if m == nil {
			continue
		}
		found++
		var args []string
		for _, w := range word.FindAllString(m[1], -1) {
			args = append(args, strings.Trim(w, "'"))
		}
		if last := len(args) - 1; args[last] == "" {
			args = args[:last]
		}
		parser, err := kong.New(&commands{}, kong.Exit(func(int) { t.Errorf("%s exits the program", line) }))
		require.NoError(t, err)
		_, err = parser.Parse(args)
		if err != nil && strings.Contains(err.Error(), "no such file") { // the file is created by an earlier command on the page
			continue
		}
		require.NoError(t, err, line)
	}
	require.GreaterOrEqual(t, found, 9)
}
