package api

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

func TestAddRejection_KeepsWhatItSays(t *testing.T) {
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
