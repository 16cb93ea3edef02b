package models_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestShown_IsOrderedByID checks that the digest does not depend on the order of the signers. It may cover only some
// of the earlier signatures, but not if the signer's request contained it.
func TestShown_IsOrderedByID(t *testing.T) {
	t.Parallel()
	last := byte(255)
	context := act(start)
	context.NewID = func() (id uuid.UUID) { id[0] = last; last--; return id } // each ID is lower than the previous one
	e, err := models.NewEnvelope(context, models.Envelope{AppID: uuid.New(), TenantID: "t", CreatedBy: "me"})
	require.NoError(t, err)
	_, err = e.AddDocument(context, page(), 1)
	require.NoError(t, err)
	for i := range 3 {
		s, err := e.AddSigner(context, signer(i, 1, models.AuthNone))
		require.NoError(t, err)
		_, err = e.AddFields(context, []models.FieldInput{field(s.ID.String(), models.FieldText)}, models.NoPrefix)
		require.NoError(t, err)
	}
	require.NoError(t, e.Send(context, nil))
	early, err := e.RecordDisplayedValues(act(start), link(e, 2))
	require.NoError(t, err)
	assert.Empty(t, early.ShownSigners)
	signs(t, e, 0, start)
	part, err := e.RecordDisplayedValues(act(start), link(e, 2))
	require.NoError(t, err)
	partly := part.Shown
	assert.Equal(t, []uuid.UUID{e.Signers[0].ID}, part.ShownSigners)
	signs(t, e, 1, start)
	now, err := e.Shown()
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{e.Signers[1].ID, e.Signers[0].ID}, now.Signers)
	assert.Equal(t, sha256Hex(`{"envelopeId":"`+e.ID.String()+`","signers":[{"signerId":"`+e.Signers[1].ID.String()+`","valuesSha256":"`+e.Signers[1].ValuesHash+
		`"},{"signerId":"`+e.Signers[0].ID.String()+`","valuesSha256":"`+e.Signers[0].ValuesHash+`"}]}`), now.Digest)

	signs(t, e, 2, start)
	require.Equal(t, partly, e.Signers[2].Shown)
	require.NoError(t, models.CheckDisplayedDigests(e.Events), "the digest may cover one of two earlier signers")
	for i := range e.Events {
		if e.Events[i].Name == models.EventSignerSigned && e.Events[i].SignerID == e.Signers[2].ID {
			e.Events[i].Detail["shownConfirmed"] = true
		}
	}
	require.Error(t, models.CheckDisplayedDigests(e.Events), "a client that returns the digest was shown all values")
}

func TestCheckShown_SignatureWithoutASigner_IsRejected(t *testing.T) {
	t.Parallel()
	for _, id := range []any{nil, "", "me", 7} {
		err := models.CheckDisplayedDigests([]models.Event{{Seq: 1, Name: models.EventEnvelopeCreated}, {Seq: 2, Name: models.EventSignerSigned, Detail: models.Detail{"signerId": id}}})
		require.ErrorContains(t, err, "event 2 names no signer")
	}
}
