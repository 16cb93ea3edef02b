package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestReferencesToSigners_NameExactlyOne: a field names its signer by role, id, index or address, and an address that
// two signers share names none. An envelope and a request for one agree.
func TestReferencesToSigners_NameExactlyOne(t *testing.T) {
	t.Parallel()
	e, err := models.NewEnvelope(act(start), models.Envelope{TenantID: "t", CreatedBy: "me"})
	require.NoError(t, err)
	_, err = e.AddDocument(act(start), page(), 1)
	require.NoError(t, err)
	var inputs []models.SignerInput
	for _, s := range []struct{ email, role string }{
		{"shared@example.com", ""}, {"Shared@example.com", "Tenant"}, {"ada@example.com", "Landlord"}, {"bo@example.com", ""},
	} {
		in := signer(0, 1, models.AuthNone)
		in.Email, in.Role = s.email, s.role
		_, err := e.AddSigner(act(start), in)
		require.NoError(t, err)
		inputs = append(inputs, in)
	}
	byID := map[string]int{}
	for i, s := range e.Signers {
		byID[s.ID.String()] = i
	}
	for _, c := range []struct {
		role, ref string
		want      int // the signer's index; -1: none
	}{
		{"", "0", 0},
		{"", "1", 1},
		{"", "3", 3},
		{"", "4", -1},
		{"", "-1", -1},
		{"", "1.0", -1},
		{"", "ada@example.com", 2},
		{"", "BO@EXAMPLE.COM", 3},
		{"", "shared@example.com", -1},
		{"", "cy@example.com", -1},
		{"Tenant", "", 1},
		{"Landlord", "", 2},
		{"tenant", "", -1},
		{"Cook", "", -1},
		{"3", "", -1},
	} {
		in := field(c.ref, models.FieldText)
		in.Role = c.role
		member := "signerId"
		if c.role != "" {
			member = "role"
		}
		problems := models.Problems{}
		in.Check(problems, "", inputs)
		fields, err := e.AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
		if c.want < 0 {
			require.Contains(t, problems, member, "%+v", c)
			var refusal *models.Error
			require.ErrorAs(t, err, &refusal, "%+v", c)
			require.Contains(t, refusal.Fields, member, "%+v", c)
			continue
		}
		require.Empty(t, problems, "%+v", c)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, e.Signers[c.want].ID, fields[0].SignerID, "%+v", c)
	}
	for id, i := range byID {
		fields, err := e.AddFields(act(start), []models.FieldInput{field(id, models.FieldText)}, models.NoPrefix)
		require.NoError(t, err)
		require.Equal(t, e.Signers[i].ID, fields[0].SignerID)
	}
}
