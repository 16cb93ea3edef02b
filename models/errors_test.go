package models_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestProblemsAreBounded: a small request with something wrong in thousands of places does not make a large answer.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	p := models.Problems{}
	for i := range 5000 {
		p.Add(fmt.Sprintf("fields[%d].x", i), "must be a number")
		p.Add("fields[0].x", "is required")
	}
	require.Len(t, p, 200)
	require.Len(t, p["fields[0].x"], 200)
	require.Error(t, p.Err())
}
