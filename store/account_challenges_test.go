package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestTakeChallenge checks that a challenge can be used only once, only for its kind, only by its holder, and only
// before it expires.
func TestTakeChallenge(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		_, ada, _ := newUsers(t, s)
		asked := store.Challenge{Kind: models.ChallengePasskey, Answer: "answer", Holder: "holder", User: &ada.ID, Data: []byte("data")}
		require.NoError(t, s.CreateChallenge(ctx, asked, time.Minute))
		for _, wrong := range []store.Challenge{
			{Kind: models.ChallengeProviderSignIn, Answer: "answer", Holder: "holder"},
			{Kind: models.ChallengePasskey, Answer: "other", Holder: "holder"},
			{Kind: models.ChallengePasskey, Answer: "answer", Holder: "other"},
		} {
			require.ErrorIs(t, s.TakeChallenge(ctx, &wrong), models.ErrNotFound)
		}
		taken := store.Challenge{Kind: models.ChallengePasskey, Answer: "answer", Holder: "holder"}
		require.NoError(t, s.TakeChallenge(ctx, &taken))
		require.Equal(t, asked, taken)
		require.ErrorIs(t, s.TakeChallenge(ctx, &taken), models.ErrNotFound, "once")

		require.NoError(t, s.CreateChallenge(ctx, asked, time.Minute))
		clock.Add(time.Minute)
		require.ErrorIs(t, s.TakeChallenge(ctx, &taken), models.ErrNotFound, "the challenge has expired")
	})
}
