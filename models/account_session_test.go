package models_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestEmbedding_EndsAtTheDeadline checks that an envelope past its deadline cannot be embedded, even if its timer has
// not fired yet.
func TestEmbedding_EndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	days := 1
	due := start.AddDate(0, 0, 1)
	e := sent(t, &days, models.AuthNone, 1, 2)
	_, err := e.CheckEmbed(e.Signers[0].ID, due.Add(-time.Microsecond))
	require.NoError(t, err)
	_, err = e.CheckEmbed(e.Signers[0].ID, due)
	assert.Equal(t, "envelope_closed", code(t, err))
	_, err = e.CheckEmbed(e.Signers[1].ID, start)
	assert.Equal(t, "signer_not_awaited", code(t, err))
	_, err = e.CheckEmbed(uuid.New(), start)
	require.ErrorIs(t, err, models.ErrNotFound)
	_, err = draft(t, nil, models.AuthNone, 1).CheckEmbed(e.Signers[0].ID, start)
	require.ErrorIs(t, err, models.ErrNotFound)
	d := draft(t, nil, models.AuthNone, 1)
	_, err = d.CheckEmbed(d.Signers[0].ID, start)
	assert.Equal(t, "envelope_draft", code(t, err))
	require.NoError(t, e.Void(act(start), nil))
	_, err = e.CheckEmbed(e.Signers[0].ID, start)
	assert.Equal(t, "envelope_closed", code(t, err))
}

// TestEmbeddedSessions_Expire checks that a session is valid until it expires or is revoked.
func TestEmbeddedSessions_Expire(t *testing.T) {
	t.Parallel()
	s := models.PageSession{ExpiresAt: start}
	require.NoError(t, s.Live(start.Add(-time.Microsecond)))
	assert.Equal(t, "session_expired", code(t, s.Live(start)))
	s.RevokedAt = &start
	require.ErrorIs(t, s.Live(start.Add(-time.Hour)), models.ErrSessionInvalid)
}
