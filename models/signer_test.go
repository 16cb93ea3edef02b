package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestRoutingOrders: from 1 to 1000, or none for a witness, who takes part where the signer does.
func TestRoutingOrders(t *testing.T) {
	t.Parallel()
	for order, want := range map[int][2]bool{-1: {}, 0: {false, true}, 1: {true, true}, 1000: {true, true}, 1001: {}} {
		for i, witnessFor := range []string{"", "Tenant"} {
			p := models.Problems{}
			models.SignerInput{Name: "A", Email: "a@example.com", AuthMethod: models.AuthNone, RoutingOrder: order, WitnessFor: witnessFor}.Check(p, "")
			assert.Equal(t, !want[i], len(p["routingOrder"]) > 0, "%d for %q", order, witnessFor)
		}
	}
}

// TestPeopleOfOneGroup: a copy goes out with its own group; nobody witnesses the own
// signature, also if either is replaced; and what kind a recipient is decides on codes.
func TestPeopleOfOneGroup(t *testing.T) {
	t.Parallel()
	e := withRecipients(t,
		recipient(0, func(in *models.SignerInput) { in.Role, in.RoutingOrder = "Tenant", 2 }),
		recipient(1, func(in *models.SignerInput) { in.WitnessFor, in.RoutingOrder = "Tenant", 0 }),
		recipient(2, func(in *models.SignerInput) { in.Kind, in.RoutingOrder = models.RecipientCopy, 2 }),
		recipient(3, func(in *models.SignerInput) { in.Kind, in.RoutingOrder = models.RecipientCopy, 3 }))
	require.NoError(t, e.Send(act(start), nil))
	signers, copies := statuses(e)
	assert.Equal(t, []models.SignerStatus{"sent", "pending"}, signers)
	assert.Equal(t, []models.SignerStatus{"sent", "pending"}, copies)
	_, err := e.Replace(act(start), e.Signers[0].ID, models.Replacement{Name: "X", Email: "S1@example.com"})
	assert.Equal(t, []string{"email"}, problemsOf(t, err), "the address of the witness")
	_, err = e.Replace(act(start), e.Signers[0].ID, models.Replacement{Name: "X", Email: "x@example.com"})
	require.NoError(t, err)
	assert.Equal(t, models.AuthEmailOTP, models.RecipientKind("another").DefaultAuthMethod())
}
