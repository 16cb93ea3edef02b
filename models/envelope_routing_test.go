package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

func TestRoutingGroups_OpenInOrder(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1, 2, 5)
	status := func() (out []models.SignerStatus) {
		for _, s := range e.Signers {
			out = append(out, s.Status)
		}
		return out
	}
	assert.Equal(t, []models.SignerStatus{"sent", "sent", "pending", "pending"}, status())
	_, err := e.Open(act(start), link(e, 2))
	assert.Equal(t, "signing_link_invalid", code(t, err), "a group that has not been opened has no links")
	signs(t, e, 1, start)
	assert.Equal(t, []models.SignerStatus{"sent", "signed", "pending", "pending"}, status())
	signs(t, e, 0, start)
	assert.Equal(t, []models.SignerStatus{"signed", "signed", "sent", "pending"}, status())
	signs(t, e, 2, start)
	assert.Equal(t, models.StatusInProgress, e.Status)
	signs(t, e, 3, start)
	assert.Equal(t, models.StatusSealing, e.Status)
	require.ErrorContains(t, e.Void(act(start), nil), "envelope_sealing")
	o := e.Originals()[0]
	require.NoError(t, e.Complete(act(start), []models.SealedFile{{OriginalID: o.ID, SHA256: "ff", PageCount: 3}}))
	assert.Equal(t, models.StatusCompleted, e.Status)
	assert.Equal(t, "ff", *e.HashFinal)
	assert.Len(t, e.Sealed(), 1)
}
