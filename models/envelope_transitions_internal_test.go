package models

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTerminalStates_HaveNoTransition checks that a state is terminal if and only if no transition leaves it.
func TestTerminalStates_HaveNoTransition(t *testing.T) {
	t.Parallel()
	for from, ways := range transitions {
		out := false
		for _, to := range ways {
			out = out || to != from
		}
		assert.Equal(t, !out, from.Terminal(), from)
	}
	assert.False(t, Status("unknown").Terminal())
}
