package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestRecentRecipients_ReadsTheNewestEnvelopes checks that an address is returned with its name from the newest
// envelope, and that only the newest 100 envelopes are read.
func TestRecentRecipients_ReadsTheNewestEnvelopes(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		u := must(s.CreateUser(ctx, f.app.ID, "sam@example.com", "Sam", "correct horse battery", models.RoleSender))
		names := func(search string) (out []string) {
			for _, c := range must(s.RecentRecipients(ctx, f.app.ID, u.ID, "t", search)) {
				out = append(out, c.Name+" "+c.Email)
			}
			return out
		}
		first := f.sent(2, nil)
		require.NoError(t, change(ctx, f, first.ID, func(e *models.Envelope) error { e.OwnerID = &u.ID; return nil }))
		require.Equal(t, []string{"S s0@example.com", "S s1@example.com"}, names("EXAMPLE"))
		execute(t, s, fmt.Sprintf("UPDATE signers SET name = 'Newer' WHERE envelope_id = '%s'", f.sentBy(u).ID))
		require.Equal(t, []string{"Newer s0@example.com", "S s1@example.com"}, names(""))
		for range 98 {
			f.sentBy(u)
		}
		require.Equal(t, []string{"S s1@example.com"}, names("s1@"), "the recipient of the hundredth envelope")
		f.sentBy(u)
		require.Empty(t, names("s1@"))
	})
}
