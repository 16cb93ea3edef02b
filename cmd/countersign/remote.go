package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/internal/plaintext"
)

// Exit codes of the commands that call a service; docs/cli.md lists them.
const (
	exitRefused      = 2 // the service refuses what was asked for
	exitUnauthorized = 3 // not signed in, or not allowed to
	exitNotFound     = 4
	exitUnavailable  = 5 // the service cannot be reached, or cannot do it now
	exitEnded        = 6 // the envelope was declined or voided, or has expired
	exitTimeout      = 7 // --timeout ended the wait
)

// codedError is an error with the exit code that it ends the program with.
type codedError struct {
	error

	code int
}

// ExitCode is the program's.
func (e codedError) ExitCode() int { return e.code }

// Unwrap is the error itself.
func (e codedError) Unwrap() error { return e.error }

// coded gives an error of the service the exit code of its kind.
func coded(err error) error {
	var refused *countersign.Error
	var ended *countersign.EndedError
	var already codedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &already):
		return err
	case errors.As(err, &ended):
		return codedError{err, exitEnded}
	case errors.Is(err, context.DeadlineExceeded):
		return codedError{errors.New("the time for waiting is over; what was sent goes on"), exitTimeout}
	case !errors.As(err, &refused):
		return codedError{fmt.Errorf("%w: is the service running, and its address right?", err), exitUnavailable}
	}
	switch {
	case refused.Status == 401:
		return codedError{fmt.Errorf("%w: sign in again with \"countersign login\"", err), exitUnauthorized}
	case refused.Status == 403:
		return codedError{err, exitUnauthorized}
	case refused.Status == 404 && refused.Code != "unexpected_response":
		return codedError{err, exitNotFound}
	case refused.Status == 429 || refused.Status >= 500 || refused.Code == "unexpected_response":
		return codedError{err, exitUnavailable}
	}
	return codedError{err, exitRefused}
}

// remote is what the commands that call a service have in common.
type remote struct {
	URL      string `help:"Address of the service." env:"COUNTERSIGN_URL" placeholder:"URL" name:"url"`
	ClientID string `help:"Client id of the application." env:"COUNTERSIGN_CLIENT_ID" placeholder:"ID"`
	Tenant   string `help:"Tenant to act for." env:"COUNTERSIGN_TENANT" placeholder:"NAME"`
	JSON     bool   `help:"Print JSON." name:"json"`
}

// login is what "countersign login" keeps.
type login struct {
	URL          string `json:"url"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	Tenant       string `json:"tenant"`
}

func loginFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "countersign", "login.json"), nil
}

// readLogin is the login that was kept; empty if there is none.
func readLogin() (l login, err error) {
	path, err := loginFile()
	if err != nil {
		return l, nil //nolint:nilerr // without a home directory nothing was kept
	}
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return l, fmt.Errorf("%s can be read by others: chmod 600 it, and replace the secret", path)
	}
	b, err := os.ReadFile(path) //nolint:gosec // our own file
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return l, fmt.Errorf("%s cannot be read: sign in again", path)
	}
	return l, nil
}

// resolve is the login that a command uses: what is named in flags or the
// environment, else what was kept. A kept secret goes to no other address or client.
func (r *remote) resolve() (login, error) {
	l, err := readLogin()
	if err != nil {
		return l, codedError{err, exitUnauthorized}
	}
	url, id := strings.TrimRight(r.URL, "/"), r.ClientID
	if url != "" && url != l.URL || id != "" && id != l.ClientID {
		l = login{URL: l.URL, Tenant: l.Tenant}
		if url != "" {
			l.URL = url
		}
		l.ClientID = id
	}
	if secret := os.Getenv("COUNTERSIGN_CLIENT_SECRET"); secret != "" {
		l.ClientSecret = secret
	}
	if r.Tenant != "" {
		l.Tenant = r.Tenant
	}
	if l.URL == "" || l.ClientID == "" || l.ClientSecret == "" {
		return l, codedError{errors.New("not signed in: run \"countersign login\", or set COUNTERSIGN_URL, COUNTERSIGN_CLIENT_ID and COUNTERSIGN_CLIENT_SECRET"), exitUnauthorized}
	}
	return l, nil
}

// client is a client of the service that the command names.
func (r *remote) client() (*countersign.Client, login, error) {
	l, err := r.resolve()
	if err != nil {
		return nil, l, err
	}
	c, err := countersign.New(l.URL, l.ClientID, l.ClientSecret, countersign.WithUserAgent("countersign-cli/"+version))
	return c, l, err
}

// neededTenant is the tenant of a command that needs one.
func neededTenant(l login) (string, error) {
	if l.Tenant == "" {
		return "", errors.New("name the tenant with --tenant, COUNTERSIGN_TENANT or \"countersign login --tenant\"")
	}
	return l.Tenant, nil
}

// printJSON prints one value as a line of JSON.
func printJSON(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

// say prints a line for people.
func say(format string, args ...any) error {
	_, err := fmt.Fprintf(os.Stdout, format+"\n", args...)
	return err
}

// plain is text from the service without what a terminal would act on.
func plain(s *string) string {
	if s == nil {
		return ""
	}
	return plaintext.Strip(*s)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

type loginCommand struct {
	remote

	Address string `arg:"" help:"Address of the service, such as https://sign.example.com." name:"url"`
}

// Help is shown with the command.
func (loginCommand) Help() string {
	return "The client secret is asked for, or read from standard input or COUNTERSIGN_CLIENT_SECRET. Address, client id, secret and tenant are kept in the user's configuration directory, readable by the user alone."
}

// Run tries the credential and keeps it.
func (c loginCommand) Run(ctx context.Context) error {
	l := login{URL: strings.TrimRight(c.Address, "/"), ClientID: c.ClientID, ClientSecret: os.Getenv("COUNTERSIGN_CLIENT_SECRET"), Tenant: c.Tenant}
	in := bufio.NewReader(os.Stdin)
	var err error
	if l.ClientID == "" {
		if l.ClientID, err = ask(in, "Client id: ", false); err != nil {
			return err
		}
	}
	if l.ClientSecret == "" {
		if l.ClientSecret, err = ask(in, "Client secret: ", true); err != nil {
			return err
		}
	}
	client, err := countersign.New(l.URL, l.ClientID, l.ClientSecret, countersign.WithUserAgent("countersign-cli/"+version), countersign.WithRetries(1))
	if err != nil {
		return err
	}
	res, err := client.API.InspectTheAppWithResponse(ctx)
	if err != nil {
		return coded(err)
	}
	path, err := loginFile()
	if err != nil {
		return err
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := replaceFile(path, b); err != nil {
		return err
	}
	app := api.AppDetail{}
	if res.JSON200 != nil {
		app = *res.JSON200
	}
	if c.JSON {
		return printJSON(map[string]any{"url": l.URL, "clientId": l.ClientID, "tenant": l.Tenant, "app": app.Name})
	}
	return say("Signed in to %s as %s.", l.URL, plain(&app.Name))
}

// replaceFile writes a file that only the user can read, whole or not at all.
func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".login-*") // with 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// ask reads a line from standard input; a terminal shows no secret.
func ask(in *bufio.Reader, prompt string, secret bool) (string, error) {
	if isTerminal(os.Stdin) {
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
