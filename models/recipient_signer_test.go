package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestRoutingOrder_IsBounded checks that the routing order must be between 1 and 1000. Only a witness may omit it,
// because a witness has the routing order of the witnessed signer.
func TestRoutingOrder_IsBounded(t *testing.T) {
	t.Parallel()
	for order, want := range map[int][2]bool{-1: {}, 0: {false, true}, 1: {true, true}, 1000: {true, true}, 1001: {}} {
		for i, witnessFor := range []string{"", "Tenant"} {
			p := models.Problems{}
			models.SignerInput{Name: "A", Email: "a@example.com", AuthMethod: models.AuthNone, RoutingOrder: order, WitnessFor: witnessFor}.Check(p, "")
			assert.Equal(t, !want[i], len(p["routingOrder"]) > 0, "%d for %q", order, witnessFor)
		}
	}
}

// TestRecipients_OfOneGroup checks that copies are announced together with their group, and that nobody can witness
// their own signature, even after a replacement.
func TestRecipients_OfOneGroup(t *testing.T) {
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

// TestEmailAddresses_ValidationAndMasking checks which strings are valid email addresses, and how addresses are
// masked.
func TestEmailAddresses_ValidationAndMasking(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"a@example.com": true, "ä@example.com": true, "a+b@sub.example.com": true, strings.Repeat("a", 242) + "@example.com": true,
		strings.Repeat("a", 243) + "@example.com": false, "": false, "a": false, "a@": false, "@example.com": false, "A <a@example.com>": false,
		" a@example.com": false, "a@example.com, b@example.com": false, "a\u200b@example.com": false, "\"a b\"@example.com": false,
	} {
		require.Equal(t, good, len(rejected(func(p models.Problems) { models.CheckEmail(p, "x", address) })) == 0, address)
	}
	for address, masked := range map[string]string{"ada@example.com": "a***@example.com", "ä@example.com": "ä***@example.com", "@example.com": "***", "nobody": "***", "": "***"} {
		require.Equal(t, masked, (&models.Signer{Email: address}).MaskedEmail(), address)
	}
	require.Empty(t, (&models.Signer{}).MaskedPhone())
	for phone, masked := range map[string]string{"+49": "", "+491": "***91", "+4915112345678": "***78"} {
		require.Equal(t, masked, (&models.Signer{Phone: &phone}).MaskedPhone(), phone)
	}
}

// TestSigners_AreBounded checks the limits of a signer's name, address, phone number and routing order.
func TestSigners_AreBounded(t *testing.T) {
	t.Parallel()
	good := models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1, AuthMethod: models.AuthEmailOTP}
	with := func(change func(in *models.SignerInput)) []string {
		in := good
		change(&in)
		return rejected(func(p models.Problems) { in.Check(p, "s.") })
	}
	for want, changes := range map[string][]func(in *models.SignerInput){
		"": {
			func(*models.SignerInput) {},
			func(in *models.SignerInput) { in.RoutingOrder = 1000 },
			func(in *models.SignerInput) { in.Name = strings.Repeat("n", 255) },
			func(in *models.SignerInput) { in.Phone = ptr("+1234567") },
			func(in *models.SignerInput) { in.Phone = ptr("+123456789012345") },
			func(in *models.SignerInput) { in.AuthMethod = models.AuthNone },
			func(in *models.SignerInput) { in.AuthMethod, in.Phone = models.AuthSMSOTP, ptr("+4915112345678") },
		},
		"s.name":  {func(in *models.SignerInput) { in.Name = "" }, func(in *models.SignerInput) { in.Name = strings.Repeat("n", 256) }},
		"s.email": {func(in *models.SignerInput) { in.Email = "" }},
		"s.phone": {
			func(in *models.SignerInput) { in.Phone = ptr("") },
			func(in *models.SignerInput) { in.Phone = ptr("+123456") },
			func(in *models.SignerInput) { in.Phone = ptr("+1234567890123456") },
			func(in *models.SignerInput) { in.Phone = ptr("+0234567") },
			func(in *models.SignerInput) { in.Phone = ptr("4915112345678") },
			func(in *models.SignerInput) { in.AuthMethod = models.AuthSMSOTP },
		},
		"s.routingOrder": {func(in *models.SignerInput) { in.RoutingOrder = 0 }, func(in *models.SignerInput) { in.RoutingOrder = 1001 }},
		"s.authMethod":   {func(in *models.SignerInput) { in.AuthMethod = "" }, func(in *models.SignerInput) { in.AuthMethod = "pigeon" }},
	} {
		for i, change := range changes {
			if want == "" {
				require.Empty(t, with(change), i)
			} else {
				require.Equal(t, []string{want}, with(change), i)
			}
		}
	}
	e := draft(t, nil, models.AuthNone, 1)
	for len(e.Signers) < models.MaxSigners {
		s, err := e.AddSigner(act(start), signer(len(e.Signers), 1, models.AuthNone))
		require.NoError(t, err)
		require.Equal(t, len(e.Signers)-1, s.Position)
		last := e.Events[len(e.Events)-1]
		require.Equal(t, models.EventSignerAdded, last.Name)
		require.Equal(t, s.ID, last.SignerID)
	}
	_, err := e.AddSigner(act(start), signer(1, 1, models.AuthNone))
	require.Equal(t, "validation_error", code(t, err))
	require.Len(t, e.Signers, models.MaxSigners)
	_, err = draft(t, nil, models.AuthNone, 1).AddSigner(act(start), models.SignerInput{})
	require.Equal(t, "validation_error", code(t, err))
}

// TestMailbox_IgnoresCase checks that recipients whose addresses differ only in case share a mailbox.
func TestMailbox_IgnoresCase(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone)
	for i, c := range []struct {
		email string
		want  int
	}{{"a@example.com", 0}, {"b@example.com", 1}, {"A@Example.com", 0}, {"c@example.com", 3}, {"b@example.com", 1}} {
		in := signer(i, 1, models.AuthNone)
		in.Email = c.email
		s, err := e.AddSigner(act(start), in)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Mailbox, i)
	}
}

// TestEmailAddresses_RequireADomain checks that an address without a domain is invalid.
func TestEmailAddresses_RequireADomain(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ada@", "@", "@example.com", `"ada@"`, `"ada@"@`, "ada", "", " ada@example.com", "<ada@example.com>"} {
		p := models.Problems{}
		models.CheckEmail(p, "email", address)
		assert.Contains(t, p, "email", address)
	}
}
