package kit

import (
	"bytes"
	"encoding/base64"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/vault"
	"countersign/store"
)

// Clock is a clock that tests advance.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that starts at the current time, truncated to microseconds, so that it is consistent with
// code that uses the real clock.
func NewClock() *Clock {
	return &Clock{at: time.Now().UTC().Truncate(time.Microsecond)} //nolint:forbidigo // the only use of the real clock in tests
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Add advances the clock.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// Databases lists the kinds of supported databases.
var Databases = []string{"sqlite", "postgres"}

// DatabaseURL creates an empty database of the given kind.
func DatabaseURL(t testing.TB, kind string) string {
	t.Helper()
	if kind == "postgres" {
		return Postgres(t)
	}
	return "sqlite://" + filepath.Join(t.TempDir(), "test.db")
}

// masterKey returns a master key of 32 equal bytes.
func masterKey(fill byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, 32))
}

// Vault returns a vault with a fixed master key.
func Vault(t testing.TB) *vault.Vault {
	t.Helper()
	return VaultOf(t, 0)
}

// VaultOf returns a vault with master keys of 32 equal bytes each. The first key encrypts, and all keys decrypt.
func VaultOf(t testing.TB, keys ...byte) *vault.Vault {
	t.Helper()
	all := make([]string, 0, len(keys))
	for _, k := range keys {
		all = append(all, masterKey(k))
	}
	v, err := vault.New(strings.Join(all, ","))
	require.NoError(t, err)
	return v
}

// Store opens a store on an empty migrated database of the given kind.
func Store(t testing.TB, kind string, now func() time.Time) *store.Store {
	t.Helper()
	return OpenStore(t, MigratedURL(t, kind), Vault(t), now)
}

// OpenStore opens a store on a database until the test ends.
func OpenStore(t testing.TB, url string, v *vault.Vault, now func() time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{
		URL: url, BaseURL: "https://sign.example.com", PasswordCost: PasswordCost, Vault: v, Now: now,
		NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// EachDatabase runs a test on each kind of database, in parallel.
func EachDatabase(t *testing.T, test func(t *testing.T, kind string)) {
	t.Helper()
	for _, kind := range Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// OnBoth runs a test on both kinds of databases.
func OnBoth(t *testing.T, test func(t *testing.T, s *store.Store, clock *Clock)) {
	t.Helper()
	EachDatabase(t, func(t *testing.T, kind string) {
		clock := NewClock()
		test(t, Store(t, kind, clock.Now), clock)
	})
}

// OnPostgres runs a test on PostgreSQL only.
func OnPostgres(t *testing.T, test func(t *testing.T, s *store.Store, clock *Clock)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		clock := NewClock()
		test(t, Store(t, "postgres", clock.Now), clock)
	})
}
