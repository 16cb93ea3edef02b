// Package terminal reads from and writes to the terminal of a command: results on standard output, all other text for
// people on standard error.
package terminal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Say prints a line for people.
func Say(format string, args ...any) error {
	_, err := fmt.Fprintf(os.Stdout, format+"\n", args...)
	return err
}

// Tell prints a line for people to standard error.
func Tell(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, format+"\n", args...) // informational only
}

// PrintJSON prints one value as a line of JSON.
func PrintJSON(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

// Is reports whether f is a terminal.
func Is(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Ask reads a line from standard input. A terminal does not echo a secret.
func Ask(in *bufio.Reader, prompt string, secret bool) (string, error) {
	if Is(os.Stdin) {
		_, _ = fmt.Fprint(os.Stderr, prompt) // a prompt that cannot be shown is no reason to stop
		if secret {
			b, err := term.ReadPassword(int(os.Stdin.Fd()))
			_, _ = fmt.Fprintln(os.Stderr)
			return strings.TrimSpace(string(b)), err
		}
	}
	line, err := in.ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		if err == nil || errors.Is(err, io.EOF) {
			err = fmt.Errorf("%sis missing", strings.ToLower(strings.Replace(prompt, ":", "", 1)))
		}
		return "", err
	}
	return line, nil
}

// Bar is a progress bar on standard error, if that is a terminal.
type Bar struct {
	Shown bool
	last  int64 // per cent + 1; 0: not drawn yet
}

// Show draws how much is done, if that is more than was drawn.
func (b *Bar) Show(done, all int64) {
	percent := min(done*100/max(all, 1), 100)
	if !b.Shown || percent+1 == b.last {
		return
	}
	b.last = percent + 1
	_, _ = fmt.Fprintf(os.Stderr, "\r%-25s %3d %%", strings.Repeat("#", int(percent/4)), percent) // only shown
}

// End begins a new line after the progress bar.
func (b *Bar) End() {
	if b.Shown && b.last > 0 {
		_, _ = fmt.Fprintln(os.Stderr)
	}
}
