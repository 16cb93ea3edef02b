package models_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestOutcome_ForNewestLink checks the outcome that the holder of the latest link sees after that link has ended.
func TestOutcome_ForNewestLink(t *testing.T) {
	t.Parallel()
	later := start.Add(time.Hour)
	outcome := func(e *models.Envelope, i int, at time.Time) models.LinkOutcome {
		end, err := e.OutcomeOf(link(e, i), at)
		require.NoError(t, err)
		return end
	}
	e := sent(t, ptr(3), models.AuthNone, 1, 1, 2)
	old := link(e, 0)
	require.Equal(t, models.LinkOutcome{Outcome: models.OutcomeOpen, Awaiting: e.Signers}, outcome(e, 0, start))
	require.NoError(t, e.RenewLink(act(start), e.Signers[0].ID))
	for _, bad := range []models.Link{old, {EnvelopeID: e.ID, SignerID: uuid.New(), ID: old.ID}, {EnvelopeID: e.ID, SignerID: e.Signers[2].ID}} {
		_, err := e.OutcomeOf(bad, start)
		require.Equal(t, "signing_link_invalid", code(t, err))
	}
	deadline := *e.ExpiresAt
	require.Equal(t, models.OutcomeOpen, outcome(e, 0, deadline.Add(-1)).Outcome)
	require.Equal(t, models.LinkOutcome{Outcome: models.OutcomeClosed, At: &deadline}, outcome(e, 0, deadline))
	signs(t, e, 0, later)
	require.Equal(t, models.LinkOutcome{Outcome: models.OutcomeSigned, At: e.Signers[0].SignedAt, Awaiting: e.Signers[1:]}, outcome(e, 0, later))
	require.Equal(t, models.LinkOutcome{Outcome: models.OutcomeOpen, Awaiting: e.Signers[1:]}, outcome(e, 1, later))
	require.Equal(t, models.OutcomeSigned, outcome(e, 0, deadline).Outcome)
	require.Empty(t, outcome(e, 0, deadline).Awaiting)

	voided := sent(t, nil, models.AuthNone, 1, 1)
	require.Equal(t, models.OutcomeOpen, outcome(voided, 0, start.Add(models.LinkLifetime-1)).Outcome)
	require.Equal(t, models.OutcomeClosed, outcome(voided, 0, start.Add(models.LinkLifetime)).Outcome, "the link has expired")
	signs(t, voided, 1, start)
	require.NoError(t, voided.Void(act(later), nil))
	require.Equal(t, models.LinkOutcome{Outcome: models.OutcomeClosed, At: voided.VoidedAt}, outcome(voided, 0, later))
	require.Equal(t, models.OutcomeSigned, outcome(voided, 1, later).Outcome)

	declined := sent(t, nil, models.AuthNone, 1, 1, 1)
	signs(t, declined, 2, start)
	_, err := declined.Decline(act(later), link(declined, 1), nil, false)
	require.NoError(t, err)
	at := declined.Signers[1].DeclinedAt
	require.Equal(t, models.LinkOutcome{Outcome: models.OutcomeClosed, At: at, DeclinedByOther: true}, outcome(declined, 0, later))
	require.Equal(t, models.LinkOutcome{Outcome: models.OutcomeDeclined, At: at}, outcome(declined, 1, later))
	require.Equal(t, models.LinkOutcome{Outcome: models.OutcomeSigned, At: &start, DeclinedByOther: true}, outcome(declined, 2, later))
}

// TestIsSameClient_WithinConfirmation checks that a client that needed no code is recognized for the lifetime of a
// confirmation.
func TestIsSameClient_WithinConfirmation(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	s := e.Signers[0]
	require.False(t, s.IsSameClient(act(start)), "the signer has not signed yet")
	signs(t, e, 0, start)
	for _, c := range []struct {
		after     time.Duration
		ip, agent string
		known     bool
	}{
		{0, "192.0.2.1", "test", true},
		{models.UnboundConfirmationLifetime - 1, "192.0.2.1", "test", true},
		{models.UnboundConfirmationLifetime, "192.0.2.1", "test", false},
		{0, "192.0.2.2", "test", false},
		{0, "192.0.2.1", "other", false},
	} {
		a := act(start.Add(c.after))
		a.IP, a.UserAgent = c.ip, c.agent
		require.Equal(t, c.known, s.IsSameClient(a), c)
	}
	s.AuthMethod = models.AuthEmailOTP
	require.False(t, s.IsSameClient(act(start)), "if a code is required, only the confirmed client is recognized")
}
