package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestSealingProblem_IsRecordedOnce checks that a problem is recorded once, together with the time at which it was
// first known, and that an operator can close the envelope only after that.
func TestSealingProblem_IsRecordedOnce(t *testing.T) {
	t.Parallel()
	open := sent(t, nil, models.AuthNone, 1)
	require.Error(t, open.SealingFailed(act(start), models.SealingRejected))
	require.Error(t, open.VoidStuck(act(start), "why"))
	require.True(t, open.AllSignedAt().IsZero())
	e := sealing(t)
	require.Equal(t, start, e.AllSignedAt())
	require.Equal(t, "envelope_not_stuck", code(t, e.VoidStuck(act(start), "why")))
	require.NoError(t, e.SealingFailed(act(start.Add(time.Hour)), models.SealingFailing))
	n := len(e.Events)
	require.Equal(t, models.EventSealingFailed, newest(e).Name)
	require.NoError(t, e.SealingFailed(act(start.Add(2*time.Hour)), models.SealingFailing))
	require.Len(t, e.Events, n, "the same problem")
	require.NoError(t, e.SealingFailed(act(start.Add(3*time.Hour)), models.SealingRejected))
	require.Len(t, e.Events, n+1)
	require.Equal(t, models.Detail{"problem": "document_refused"}, newest(e).Detail)
	require.Equal(t, start.Add(time.Hour), *e.SealingProblemAt)
	require.Equal(t, models.SealingRejected, *e.SealingProblem)
	for _, reason := range []string{"", strings.Repeat("x", 1001), "a\x00"} {
		require.Equal(t, "validation_error", code(t, e.VoidStuck(act(start), reason)))
	}
	require.Equal(t, models.StatusSealing, e.Status)
	require.NoError(t, e.VoidStuck(act(start.Add(4*time.Hour)), "why"))
	require.Equal(t, models.StatusVoided, e.Status)
	require.Equal(t, start.Add(4*time.Hour), *e.VoidedAt)
	require.Equal(t, models.EventEnvelopeVoided, newest(e).Name)
	require.Equal(t, models.Detail{"reason": "why", "problem": "document_refused"}, newest(e).Detail)

	says := map[string]models.SealingProblem{}
	for problem, lasting := range map[models.SealingProblem]bool{
		models.SealingOriginalMissing: true, models.SealingOriginalChanged: true, models.SealingRejected: true, models.SealingChainBroken: true,
		models.SealingFailing: false, "other": true,
	} {
		require.Equal(t, lasting, problem.Permanent(), problem)
		require.NotContains(t, says, problem.Message(), problem)
		says[problem.Message()] = problem
	}
	for word, problem := range map[string]models.SealingProblem{
		"missing": models.SealingOriginalMissing, "has changed": models.SealingOriginalChanged, "cannot be sealed in its current form": models.SealingRejected,
		"audit trail": models.SealingChainBroken, "will be retried": models.SealingFailing,
	} {
		require.Contains(t, problem.Message(), word)
	}
}
