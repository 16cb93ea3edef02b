package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPhonesAreUnderstoodOrRefused: a number that can be is brought into one form; one that cannot be is refused,
// however it is written.
func TestPhonesAreUnderstoodOrRefused(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for text, want := range map[string]string{
		"+44 20 7946 0958": "+442079460958", "+442079460958": "+442079460958", "  +44 (20) 7946-0958 ": "+442079460958",
	} {
		require.Equal(t, want, c.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com", "phone": text}).want(200).str("phone"), text)
	}
	for _, text := range []string{"+1 234 567", "020 7946 0958", "+44", "nobody", "+44 20 7946 0958 7946 0958 7946"} {
		c.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com", "phone": text}).want(400)
	}
	for _, text := range []string{"", "  "} {
		require.Nil(t, c.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com", "phone": text}).want(200).body["phone"], "no number")
	}
}
