package models_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestProblems_AreBounded checks that the response to a small request with thousands of errors is also small.
func TestProblems_AreBounded(t *testing.T) {
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

// TestInvalidFields_SummarizesProblems checks that the message contains the first problem and the number of other
// problems.
func TestInvalidFields_SummarizesProblems(t *testing.T) {
	t.Parallel()
	p := models.Problems{}
	require.NoError(t, p.Err())
	p.Add("b", "is %d", 2)
	require.EqualError(t, p.Err(), "validation_error: b: is 2 (b)")
	p.Add("a", "is 1")
	require.EqualError(t, p.Err(), "validation_error: a: is 1 (and 1 more) (a, b)")
	err := models.InvalidField("c", "is %d", 3)
	require.EqualError(t, err, "validation_error: c: is 3 (c)")
	assert.Equal(t, []string{"c"}, problemsOf(t, err))
}
