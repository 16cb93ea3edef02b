// Package terminal implements the input and output of commands. Results go to standard output, and all other text for
// the user goes to standard error.
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

// Printf prints a line to standard output.
func Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(os.Stdout, format+"\n", args...)
	return err
}

// Inform prints a line to standard error.
func Inform(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, format+"\n", args...) // informational only
}

// PrintJSON prints a value as a single line of JSON.
func PrintJSON(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

// Is reports whether f is a terminal.
func Is(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Prompt prompts the user and reads a line from standard input. If the parameter secret is set, a terminal does not
// echo it.
func Prompt(in *bufio.Reader, prompt string, secret bool) (string, error) {
	if Is(os.Stdin) {
		_, _ = fmt.Fprint(os.Stderr, prompt) // continue even if the prompt cannot be displayed
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

// Bar is a progress bar on standard error. It is drawn only if Shown is set.
type Bar struct {
	Visible bool
	last    int64 // last percentage drawn, plus 1; 0 if nothing has been drawn
}

// Show draws the progress if the percentage has changed.
func (b *Bar) Show(done, all int64) {
	percent := min(done*100/max(all, 1), 100)
	if !b.Visible || percent+1 == b.last {
		return
	}
	b.last = percent + 1
	_, _ = fmt.Fprintf(os.Stderr, "\r%-25s %3d %%", strings.Repeat("#", int(percent/4)), percent) // informational only
}

// End ends the line of the progress bar.
func (b *Bar) End() {
	if b.Visible && b.last > 0 {
		_, _ = fmt.Fprintln(os.Stderr)
	}
}
