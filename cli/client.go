package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/cli/devdir"
	"countersign/cli/terminal"
	countersign "countersign/clients/go"
	"countersign/config"
	"countersign/internal/atomicfile"
	"countersign/internal/plaintext"
)

// The exit codes of commands that call a service. They are listed in docs/build/cli.md.
const (
	exitRejected     = 2 // the service rejected the request
	exitUnauthorized = 3 // not logged in, or not permitted
	exitNotFound     = 4
	exitUnavailable  = 5   // the service cannot be reached, or is temporarily unable to process the request
	exitEnded        = 6   // the envelope was declined or voided, or has expired
	exitTimeout      = 7   // the wait exceeded --timeout
	exitInterrupted  = 130 // Ctrl-C, with the exit code that shells use
)

// codedError is an error with the exit code of the program.
type codedError struct {
	error

	code int
}

// ExitCode returns the exit code of the program.
func (e codedError) ExitCode() int { return e.code }

// Unwrap returns the wrapped error.
func (e codedError) Unwrap() error { return e.error }

// coded adds an exit code to an error from the client, according to the kind of error.
func coded(err error) error {
	_, already := errors.AsType[codedError](err)
	_, ended := errors.AsType[*countersign.EndedError](err)
	rejected, ok := errors.AsType[*countersign.Error](err)
	switch {
	case err == nil || already:
		return err
	case ended:
		return codedError{err, exitEnded}
	case errors.Is(err, context.Canceled):
		return codedError{errors.New("interrupted"), exitInterrupted}
	case !ok: // includes network timeouts, which also wrap context.DeadlineExceeded
		return codedError{fmt.Errorf("%w: check that the service is running and that its address is correct", err), exitUnavailable}
	case rejected.Status == 401:
		return codedError{fmt.Errorf("%w: sign in again with \"countersign login\"", err), exitUnauthorized}
	case rejected.Status == 403:
		return codedError{err, exitUnauthorized}
	case rejected.Status == 404 && rejected.Code != "unexpected_response":
		return codedError{err, exitNotFound}
	case rejected.Status == 429 || rejected.Status >= 500 || rejected.Code == "unexpected_response":
		return codedError{err, exitUnavailable}
	}
	return codedError{err, exitRejected}
}

// waitError returns the error for a wait that ended prematurely. The parameter what describes the object and contains
// its ID.
func waitError(waiting context.Context, err error, what string) error {
	switch {
	case errors.Is(waiting.Err(), context.DeadlineExceeded):
		return codedError{fmt.Errorf("timed out while waiting; %s continues", what), exitTimeout}
	case waiting.Err() != nil:
		return codedError{fmt.Errorf("interrupted; %s continues", what), exitInterrupted}
	}
	if _, ended := errors.AsType[*countersign.EndedError](err); !ended { // an EndedError already contains the ID
		err = fmt.Errorf("%s was sent: %w", what, coded(err))
	}
	return coded(err)
}

// service specifies the service that a command calls, and the app and tenant on whose behalf it is called.
type service struct {
	URL      string `help:"Address of the service." env:"COUNTERSIGN_URL" placeholder:"URL" name:"url"`
	ClientID string `help:"Client id of the application." env:"COUNTERSIGN_CLIENT_ID" placeholder:"ID"`
	Tenant   string `help:"Tenant to act for." env:"COUNTERSIGN_TENANT" placeholder:"NAME"`
}

// remote contains the arguments shared by commands that call a service.
type remote struct {
	service

	JSON bool `help:"Print JSON." name:"json"`
}

// print prints a value as JSON if --json is set, and otherwise as a formatted line.
func (r remote) print(v any, format string, args ...any) error {
	if r.JSON {
		return terminal.PrintJSON(v)
	}
	return terminal.Printf(format, args...)
}

// remoteEnvelope contains the arguments shared by commands for a single envelope.
type remoteEnvelope struct {
	remote

	ID uuid.UUID `arg:"" help:"Id of the envelope."`
}

// login contains the data saved by "countersign login".
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

// readLogin returns the saved login, or an empty login if there is none.
func readLogin() (l login, err error) {
	path, err := loginFile()
	if err != nil {
		return l, nil //nolint:nilerr // without a home directory, no login can have been saved
	}
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return l, fmt.Errorf("%s is readable by other users: run chmod 600 on it, and rotate the secret", path)
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

// resolve returns the login for a command. The first available source is used: flags or the environment, then the saved
// login, then a running "countersign dev". A saved secret is never sent to another address or used with another client
// ID.
func (s service) resolve() (login, error) {
	l, err := readLogin()
	if err != nil {
		return l, codedError{err, exitUnauthorized}
	}
	url, id := strings.TrimRight(s.URL, "/"), s.ClientID
	if url != "" && url != l.URL || id != "" && id != l.ClientID {
		l = login{URL: cmp.Or(url, l.URL), ClientID: id, Tenant: l.Tenant}
	}
	l.ClientSecret = cmp.Or(os.Getenv("COUNTERSIGN_CLIENT_SECRET"), l.ClientSecret)
	l.Tenant = cmp.Or(s.Tenant, l.Tenant)
	if s.URL == "" && s.ClientID == "" && l == (login{Tenant: l.Tenant}) {
		if dev, err := devLogin(l.Tenant); err != nil || dev.URL != "" {
			return dev, err
		}
	}
	if l.URL == "" || l.ClientID == "" || l.ClientSecret == "" {
		return l, codedError{errors.New("not signed in: start \"make dev\" and run this in its directory, run \"countersign login\", or set COUNTERSIGN_URL, COUNTERSIGN_CLIENT_ID and COUNTERSIGN_CLIENT_SECRET"), exitUnauthorized}
	}
	return l, nil
}

// devTenant is the default tenant for requests to a running "countersign dev".
const devTenant = "demo"

// devLogin returns the login for the instance of "countersign dev" that uses the current data directory. It returns an
// empty login if dev has never run there, and an error if it is not running.
func devLogin(tenant string) (login, error) {
	dir := cmp.Or(os.Getenv(config.Prefix+"DATA_DIR"), config.Default().DataDir)
	d := devdir.Read(dir)
	if d.BaseURL == "" {
		return login{}, nil
	}
	unlock, err := devdir.Lock(dir)
	if err == nil { // no other process holds the lock
		unlock()
		return login{}, codedError{fmt.Errorf("no service uses the data directory %s: start \"make dev\" and wait until it is ready, or use another service with \"countersign login\"", dir), exitUnavailable}
	}
	return login{URL: d.BaseURL, ClientID: d.ClientID, ClientSecret: d.ClientSecret, Tenant: cmp.Or(tenant, devTenant)}, nil
}

// client returns a client for the service and the specified tenant. The tenant is empty if none is specified.
func (s service) client() (*countersign.Client, string, error) {
	return s.clientNamed("countersign-cli")
}

func (s service) clientNamed(program string) (*countersign.Client, string, error) {
	l, err := s.resolve()
	if err != nil {
		return nil, "", err
	}
	c, err := countersign.New(l.URL, l.ClientID, l.ClientSecret, countersign.WithUserAgent(program+"/"+Version))
	return c, l.Tenant, err
}

// clientAndTenant is like client, but returns an error if no tenant is specified.
func (s service) clientAndTenant() (*countersign.Client, string, error) {
	c, tenant, err := s.client()
	if err == nil && tenant == "" {
		err = errNoTenant
	}
	return c, tenant, err
}

var errNoTenant = errors.New("set the tenant with --tenant, COUNTERSIGN_TENANT or \"countersign login --tenant\"")

func inUTC(t time.Time) string { return t.UTC().Format(time.DateTime + "Z") }

// plain returns text from the service without characters that could control the terminal.
func plain(s *string) string {
	if s == nil {
		return ""
	}
	return plaintext.Strip(*s)
}

type loginCommand struct {
	remote

	Address string `arg:"" help:"Address of the service, such as https://sign.example.com." name:"url"`
}

// Help returns the additional help text of the command.
func (loginCommand) Help() string {
	return "The client secret is read from COUNTERSIGN_CLIENT_SECRET, a prompt, or standard input. The address, client id, secret and tenant are stored in your configuration directory, in a file that only you can read."
}

// Run verifies the credential and saves it.
func (c loginCommand) Run(ctx context.Context) error {
	l := login{URL: strings.TrimRight(c.Address, "/"), ClientID: c.ClientID, ClientSecret: os.Getenv("COUNTERSIGN_CLIENT_SECRET"), Tenant: c.Tenant}
	in := bufio.NewReader(os.Stdin)
	var err error
	if l.ClientID == "" {
		if l.ClientID, err = terminal.Prompt(in, "Client id: ", false); err != nil {
			return err
		}
	}
	if l.ClientSecret == "" {
		if l.ClientSecret, err = terminal.Prompt(in, "Client secret: ", true); err != nil {
			return err
		}
	}
	client, err := countersign.New(l.URL, l.ClientID, l.ClientSecret, countersign.WithUserAgent("countersign-cli/"+Version), countersign.WithRetries(1))
	if err != nil {
		return err
	}
	app, err := countersign.Answer(client.API.GetAppWithResponse(ctx))
	if err != nil {
		return coded(err)
	}
	l.Tenant = cmp.Or(l.Tenant, firstTenant(app.Tenants))
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
	if err := atomicfile.Replace(path, b); err != nil {
		return err
	}
	return c.print(map[string]any{"url": l.URL, "clientId": l.ClientID, "tenant": l.Tenant, "app": app.Name},
		"Signed in to %s as %s, tenant %s.", l.URL, plain(&app.Name), l.Tenant)
}

// firstTenant returns the first of the app's tenants or, if there are none, "main". The console also suggests "main".
func firstTenant(tenants []string) string {
	if len(tenants) > 0 {
		return tenants[0]
	}
	return "main"
}

// readFile reads a file specified by the user. The parameter most is the maximum size of the file in bytes.
func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // chosen by the user
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is larger than %d MiB", path, most>>20)
	}
	return b, err
}
