package workflows_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/temporal"
)

// TestWitnessesAndCopies: a witness is invited once the signature is there that they
// witness, and the group waits for them; who gets copies is told when the group is
// reached, and waited for by nobody.
func TestWitnessesAndCopies(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 2, 2, 4) // A, B, C
	principal := env.plan.Signers[0].ID
	env.plan.Signers[1].After = &principal
	for _, group := range []int{1, 3, 5} { // a, b, c
		env.plan.Copies = append(env.plan.Copies, temporal.PlanSigner{ID: uuid.New(), Group: group})
	}
	env.seals()
	env.signs(time.Hour, 0)
	env.signs(2*time.Hour, 1)
	env.signs(3*time.Hour, 2)
	env.run(t)
	require.ElementsMatch(t, []string{"invite A", "invite a", "invite B", "invite b", "invite C", "seal", "copies"}, env.calls)
	for call, at := range map[string]time.Duration{"invite A": 0, "invite a": 0, "invite B": time.Hour, "invite b": 2 * time.Hour, "invite C": 2 * time.Hour, "seal": 3 * time.Hour} {
		require.InDelta(t, at, env.times[call], float64(time.Minute), call)
	}
}

// TestWitnessAfterARestart: what was signed before is in the plan.
func TestWitnessAfterARestart(t *testing.T) {
	t.Parallel()
	env := newFakeEnv(t, 1, 1)
	principal := env.plan.Signers[0].ID
	env.plan.Signers[0].Signed, env.plan.Signers[1].After = true, &principal
	env.seals()
	env.signs(time.Hour, 1)
	env.run(t)
	require.Equal(t, []string{"invite B", "seal", "copies"}, env.calls)
}
