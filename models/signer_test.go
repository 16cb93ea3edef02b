package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
