// Package devdir manages the data directory of "countersign dev", which contains information about the running service
// for commands and tests.
package devdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"countersign/internal/atomicfile"
)

const file = "demo.json"

// Info contains information about a service run by "dev".
type Info struct {
	BaseURL string `json:"baseUrl"`
	Credentials
	InboxURL        string `json:"inboxUrl"`
	SMTPAddress     string `json:"smtpAddress"`
	TemporalAddress string `json:"temporalAddress,omitempty"` // address of the bundled server
	TemporalUIURL   string `json:"temporalUiUrl"`
	ConsoleURL      string `json:"consoleUrl"`
	ConsoleLogin
}

// Credentials are the credentials of an app.
type Credentials struct {
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
}

// ConsoleLogin contains the credentials of a console user.
type ConsoleLogin struct {
	ConsoleEmail    string `json:"consoleEmail"`
	ConsolePassword string `json:"consolePassword"`
}

// Read returns the information about the last run, or an empty Info if there has been none.
func Read(dir string) (i Info) {
	b, err := os.ReadFile(filepath.Join(dir, file)) //nolint:gosec // our own data directory
	if err != nil || json.Unmarshal(b, &i) != nil {
		return Info{}
	}
	return i
}

// Write stores information about the running service.
func Write(dir string, i Info) error {
	path := filepath.Join(dir, file)
	b, err := json.MarshalIndent(i, "", "  ")
	if err == nil {
		err = atomicfile.Replace(path, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Lock locks the directory for this process until the returned function is called or the process exits.
func Lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // our own data directory
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another countersign process is using %s", dir), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
