package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

func TestAddRejection_PreservesTheMessage(t *testing.T) {
	t.Parallel()
	p := models.Problems{}
	require.NoError(t, addRejection(p, nil))
	require.Empty(t, p)
	require.NoError(t, addRejection(p, models.InvalidField("signers", "must be given")))
	require.NoError(t, addRejection(p, models.Reject(models.KindConflict, "taken", "It is taken.")))
	require.Equal(t, models.Problems{"signers": {"must be given"}, "": {"It is taken."}}, p)
	require.ErrorContains(t, addRejection(p, errors.New("no disk")), "check a row: no disk")
	require.Len(t, p, 2)
}

// TestReadBulkObject_MembersOccurOnce checks that a repeated member is rejected, and that the error names it.
func TestReadBulkObject_MembersOccurOnce(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"tenantId": `{"tenantId": "a", "rows": [{}], "tenantId": "a"}`,
		"rows":     `{"rows": [{}], "tenantId": "a", "rows": [{}]}`,
	} {
		_, _, err := readBulkObject(strings.NewReader(body))
		require.Equal(t, models.InvalidField(name, "must occur only once"), err)
	}
}
