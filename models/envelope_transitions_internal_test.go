package models

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTerminalStatesHaveNoWayOut: the states that are called terminal are those that no transition leaves.
func TestTerminalStatesHaveNoWayOut(t *testing.T) {
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
