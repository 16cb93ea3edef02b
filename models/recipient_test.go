package models_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

func recipient(i int, edit func(*models.SignerInput)) models.SignerInput {
	in := signer(i, 1, models.AuthNone)
	edit(&in)
	return in
}

func kind(k models.RecipientKind) func(*models.SignerInput) {
	return func(in *models.SignerInput) { in.Kind = k }
}

func host(email string) *models.Host { return &models.Host{Name: "Hal", Email: email} }

// withRecipients returns a draft with a document, the given recipients, and a field for each signer.
func withRecipients(t require.TestingT, ins ...models.SignerInput) *models.Envelope {
	e := draft(t, nil, models.AuthNone)
	for _, in := range ins {
		s, err := e.AddSigner(act(start), in)
		require.NoError(t, err)
		if s.Kind == models.RecipientSigner || s.Kind == models.RecipientInPerson {
			_, err = e.AddFields(act(start), []models.FieldInput{field(s.ID.String(), models.FieldText)}, models.IndexedPath)
			require.NoError(t, err)
		}
	}
	return e
}

func statuses(e *models.Envelope) (signers, copies []models.SignerStatus) {
	for _, s := range e.Signers {
		signers = append(signers, s.Status)
	}
	for _, s := range e.Copies {
		copies = append(copies, s.Status)
	}
	return signers, copies
}

// TestRecipientRules_ByKind checks which members are permitted in a request for each kind of recipient.
func TestRecipientRules_ByKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*models.SignerInput)
		bad  []string
	}{
		"nothing":                        {func(*models.SignerInput) {}, nil},
		"signer":                         {kind(models.RecipientSigner), nil},
		"no kind":                        {kind("boss"), []string{"kind"}},
		"a kind in another case":         {kind("Signer"), []string{"kind"}},
		"copy by mail":                   {func(in *models.SignerInput) { in.Kind, in.AuthMethod = models.RecipientCopy, models.AuthEmailOTP }, nil},
		"copy that can be handed over":   {func(in *models.SignerInput) { in.Kind, in.AllowDelegation = models.RecipientCopy, true }, []string{"allowDelegation"}},
		"viewer that can be handed over": {func(in *models.SignerInput) { in.Kind, in.AllowDelegation = models.RecipientViewer, true }, nil},
		"in person":                      {func(in *models.SignerInput) { in.Kind, in.Host = models.RecipientInPerson, host("h@example.com") }, nil},
		"in person without a host":       {kind(models.RecipientInPerson), []string{"host"}},
		"in person hosted by themselves": {func(in *models.SignerInput) { in.Kind, in.Host = models.RecipientInPerson, host("S0@Example.com") }, []string{"host.email"}},
		"in person with a nameless host": {func(in *models.SignerInput) {
			in.Kind, in.Host = models.RecipientInPerson, &models.Host{Email: "no address"}
		}, []string{"host.email", "host.name"}},
		"in person with a mailed code": {func(in *models.SignerInput) {
			in.Kind, in.Host, in.AuthMethod = models.RecipientInPerson, host("h@example.com"), models.AuthEmailOTP
		}, []string{"authMethod"}},
		"in person with a text message": {func(in *models.SignerInput) {
			in.Kind, in.Host, in.AuthMethod, in.Phone = models.RecipientInPerson, host("h@example.com"), models.AuthSMSOTP, ptr("+4915112345678")
		}, nil},
		"a host of a signer":       {func(in *models.SignerInput) { in.Host = host("h@example.com") }, []string{"host"}},
		"a language":               {func(in *models.SignerInput) { in.Language = "de-AT" }, nil},
		"a language in capitals":   {func(in *models.SignerInput) { in.Language = "PT-BR" }, nil},
		"a language without texts": {func(in *models.SignerInput) { in.Language = "tlh" }, []string{"language"}},
		"no language":              {func(in *models.SignerInput) { in.Language = "en\r\nX: y" }, []string{"language"}},
		"a witness":                {func(in *models.SignerInput) { in.WitnessFor, in.RoutingOrder = "Tenant", 0 }, nil},
		"no routing order":         {func(in *models.SignerInput) { in.RoutingOrder = 0 }, []string{"routingOrder"}},
		"an approving witness":     {func(in *models.SignerInput) { in.Kind, in.WitnessFor = models.RecipientApprover, "Tenant" }, []string{"witnessFor"}},
		"a witness of themselves":  {func(in *models.SignerInput) { in.Role, in.WitnessFor = "Tenant", "Tenant" }, []string{"witnessFor"}},
	} {
		require.ElementsMatch(t, c.bad, rejected(func(p models.Problems) { recipient(0, c.edit).Check(p, "") }), name)
	}
	require.Equal(t, models.AuthEmailOTP, models.RecipientViewer.DefaultAuthMethod())
	require.Equal(t, models.AuthNone, models.RecipientInPerson.DefaultAuthMethod())
}

// TestSend_RequiresAnActiveRecipient checks that an envelope needs a recipient who acts, and waits for all such
// recipients and no others.
func TestSend_RequiresAnActiveRecipient(t *testing.T) {
	t.Parallel()
	e := withRecipients(t, recipient(0, kind(models.RecipientCopy)))
	require.ElementsMatch(t, []string{"fields", "signers"}, problemsOf(t, e.Send(act(start), nil)), "no recipient has to act")
	require.Empty(t, e.Signers)
	require.Equal(t, e.Copies, e.Recipients())

	e = withRecipients(t, recipient(0, kind(models.RecipientApprover)), recipient(1, kind(models.RecipientViewer)))
	require.NoError(t, e.Send(act(start), nil), "approvers and viewers do not require fields")
	e = withRecipients(t, recipient(0, kind(models.RecipientApprover)))
	_, err := e.AddSigner(act(start), recipient(1, func(*models.SignerInput) {}))
	require.NoError(t, err)
	require.Equal(t, []string{"fields"}, problemsOf(t, e.Send(act(start), nil)), "a signer requires fields")

	e = withRecipients(t, recipient(0, func(in *models.SignerInput) { in.Kind = models.RecipientCopy }),
		recipient(1, func(in *models.SignerInput) { in.Kind, in.RoutingOrder = models.RecipientApprover, 2 }),
		recipient(2, func(in *models.SignerInput) { in.Kind, in.RoutingOrder = models.RecipientCopy, 3 }),
		recipient(3, func(in *models.SignerInput) { in.RoutingOrder = 4 }),
		recipient(4, func(in *models.SignerInput) { in.Kind, in.RoutingOrder = models.RecipientCopy, 5 }))
	require.Len(t, e.Recipients(), 5)
	require.NoError(t, e.Send(act(start), nil))
	require.EqualValues(t, 2, newest(e).Detail["signers"])
	require.EqualValues(t, 3, newest(e).Detail["copies"])
	signers, copies := statuses(e)
	require.Equal(t, []models.SignerStatus{"sent", "pending"}, signers, "a group of only copy recipients is skipped")
	require.Equal(t, []models.SignerStatus{"sent", "pending", "pending"}, copies)
	_, err = e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	_, err = e.Sign(act(start), link(e, 0), models.Submission{})
	require.NoError(t, err, "an approver without fields")
	require.Equal(t, "approver", newest(e).Detail["kind"])
	signers, copies = statuses(e)
	require.Equal(t, []models.SignerStatus{"signed", "sent"}, signers)
	require.Equal(t, []models.SignerStatus{"sent", "sent", "pending"}, copies)
	signs(t, e, 1, start)
	require.Equal(t, models.StatusSealing, e.Status)
	_, copies = statuses(e)
	require.Equal(t, []models.SignerStatus{"sent", "sent", "sent"}, copies)
}

// TestCopyRecipients_CannotAct checks that copy recipients have no link and cannot change the envelope.
func TestCopyRecipients_CannotAct(t *testing.T) {
	t.Parallel()
	e := withRecipients(t, recipient(0, func(*models.SignerInput) {}), recipient(1, kind(models.RecipientCopy)))
	require.NoError(t, e.Send(act(start), nil))
	c := e.Copies[0]
	require.Nil(t, c.LinkID)
	require.Nil(t, e.Signer(c.ID))
	require.Equal(t, c, e.Recipient(c.ID))
	for name, err := range map[string]error{
		"open":   second(e.Open(act(start), models.Link{EnvelopeID: e.ID, SignerID: c.ID})),
		"embed":  second(e.CheckEmbed(c.ID, start)),
		"resend": second(e.Resend(act(start), c.ID)),
		"link":   second(e.IssueLink(act(start), c.ID, true)),
	} {
		require.Error(t, err, name)
	}
	require.NoError(t, e.Invited(act(start), c.ID, false, "mail"))
	require.Equal(t, models.EventCopyAnnounced, newest(e).Name)
}

func second[T any](_ T, err error) error { return err }

// TestViewers_MustOpenEveryDocument checks that a viewer can finish only after opening every document.
func TestViewers_MustOpenEveryDocument(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone)
	_, err := e.AddDocument(act(start), page(), 2)
	require.NoError(t, err)
	v, err := e.AddSigner(act(start), recipient(0, kind(models.RecipientViewer)))
	require.NoError(t, err)
	_, err = e.AddFields(act(start), []models.FieldInput{field(v.ID.String(), models.FieldText)}, models.IndexedPath)
	require.Equal(t, []string{"fields[0].signerId"}, problemsOf(t, err))
	require.NoError(t, e.Send(act(start), nil))
	_, err = e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	docs := e.Originals()
	for i, left := range [][]uuid.UUID{{docs[0].ID, docs[1].ID}, {docs[0].ID}} {
		_, err = e.Sign(act(start), link(e, 0), models.Submission{})
		require.Equal(t, "documents_not_opened", code(t, err))
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection)
		require.Equal(t, left, rejection.Details["documentIds"])
		require.Equal(t, models.SignerSent, e.Signers[0].Status)
		require.NoError(t, e.ViewPage(act(start), link(e, 0), docs[1-i].ID, 1, 10, nil))
		require.NoError(t, e.ViewPage(act(start), link(e, 0), docs[1-i].ID, 2, 10, nil), "opened once")
		require.Len(t, e.Signers[0].Opened, i+1)
	}
	_, err = e.Sign(act(start), link(e, 0), models.Submission{})
	require.NoError(t, err)
	require.Equal(t, models.StatusSealing, e.Status)
	require.Equal(t, models.SignerSigned, e.Signers[0].Status)
}

// TestWitnesses_FollowTheirSigner checks that a witness is invited after the witnessed signer has signed, and that the
// group waits for both.
func TestWitnesses_FollowTheirSigner(t *testing.T) {
	t.Parallel()
	e := withRecipients(t,
		recipient(1, func(in *models.SignerInput) { in.WitnessFor, in.RoutingOrder = "Tenant", 0 }), // listed before the signer
		recipient(0, func(in *models.SignerInput) { in.Role, in.RoutingOrder = "Tenant", 2 }),
		recipient(2, func(in *models.SignerInput) { in.RoutingOrder = 3 }))
	require.Equal(t, 2, e.Signers[0].RoutingOrder, "the routing order of the witnessed signer")
	require.NoError(t, e.Send(act(start), nil))
	signers, _ := statuses(e)
	require.Equal(t, []models.SignerStatus{"pending", "sent", "pending"}, signers)
	_, err := e.Resend(act(start), e.Signers[0].ID)
	require.Equal(t, "signer_not_awaited", code(t, err))
	signs(t, e, 1, start)
	signers, _ = statuses(e)
	require.Equal(t, []models.SignerStatus{"sent", "signed", "pending"}, signers)
	_, err = e.Replace(act(start), e.Signers[0].ID, models.Replacement{Name: "X", Email: "S0@example.com"})
	require.Equal(t, []string{"email"}, problemsOf(t, err), "the address of the witnessed signer")
	signs(t, e, 0, start)
	require.Equal(t, e.Signers[1].ID.String(), newest(e).Detail["witnessFor"])
	signers, _ = statuses(e)
	require.Equal(t, []models.SignerStatus{"signed", "signed", "sent"}, signers)

	for name, c := range map[string]struct {
		principal, witness func(*models.SignerInput)
		bad                []string
	}{
		"same address":        {func(*models.SignerInput) {}, func(in *models.SignerInput) { in.Email = "S0@example.com" }, []string{"signers[1].email"}},
		"another order":       {func(*models.SignerInput) {}, func(in *models.SignerInput) { in.RoutingOrder = 3 }, []string{"signers[1].routingOrder"}},
		"the same order":      {func(in *models.SignerInput) { in.RoutingOrder = 3 }, func(in *models.SignerInput) { in.RoutingOrder = 3 }, nil},
		"of an approver":      {kind(models.RecipientApprover), func(*models.SignerInput) {}, []string{"signers[1].witnessFor"}},
		"of an in-person one": {func(in *models.SignerInput) { in.Kind, in.Host = models.RecipientInPerson, host("h@example.com") }, func(*models.SignerInput) {}, nil},
		"of a witness":        {func(in *models.SignerInput) { in.WitnessFor = "Landlord" }, func(*models.SignerInput) {}, []string{"signers[0].witnessFor", "signers[1].witnessFor"}},
		"of nobody":           {func(in *models.SignerInput) { in.Role = "Landlord" }, func(*models.SignerInput) {}, []string{"signers[1].witnessFor"}},
	} {
		ins := []models.SignerInput{
			recipient(0, func(in *models.SignerInput) { in.Role = "Tenant"; c.principal(in) }),
			recipient(1, func(in *models.SignerInput) { in.WitnessFor, in.RoutingOrder = "Tenant", 0; c.witness(in) }),
		}
		require.ElementsMatch(t, c.bad, rejected(func(p models.Problems) {
			models.ResolveWitnesses(p, ins, func(i int) string { return "signers[" + string(rune('0'+i)) + "]." })
		}), name)
	}

	d := withRecipients(t, recipient(0, func(in *models.SignerInput) { in.Role = "Tenant" }),
		recipient(1, func(in *models.SignerInput) { in.WitnessFor, in.RoutingOrder = "Tenant", 0 }))
	same := recipient(1, func(in *models.SignerInput) { in.Role = "Tenant" })
	_, err = d.EditSigner(act(start), d.Signers[0].ID, same)
	require.NoError(t, err)
	require.Equal(t, []string{"signers"}, problemsOf(t, d.Send(act(start), nil)), "the edited signer and the witness share an address")
	require.NoError(t, d.RemoveSigner(act(start), d.Signers[0].ID))
	require.ErrorContains(t, d.Send(act(start), nil), "the role Tenant, which no signer has")
}

// TestInvitee_IsHostOrNobody checks that the host of an in-person signer receives the email. If the sender delivers
// the links, an email is sent only on request.
func TestInvitee_IsHostOrNobody(t *testing.T) {
	t.Parallel()
	e := withRecipients(t, recipient(0, func(in *models.SignerInput) { in.Kind, in.Host = models.RecipientInPerson, host("h@example.com") }),
		recipient(1, func(in *models.SignerInput) { in.Silent = true }))
	require.NoError(t, e.Send(act(start), nil))
	name, email := e.Signers[0].Invitee()
	require.Equal(t, []string{"Hal", "h@example.com"}, []string{name, email})
	name, email = e.Signers[1].Invitee()
	require.Equal(t, []string{"Signer 1", "s1@example.com"}, []string{name, email})
	_, err := e.Replace(act(start), e.Signers[0].ID, models.Replacement{Name: "X", Email: "H@example.com"})
	require.Equal(t, []string{"host.email"}, problemsOf(t, err))
	_, err = e.Replace(act(start), e.Signers[0].ID, models.Replacement{Name: "X", Email: "x@example.com", AuthMethod: models.AuthEmailOTP})
	require.Equal(t, []string{"authMethod"}, problemsOf(t, err))

	silent := e.Signers[1]
	require.True(t, e.Signers[0].InvitedByMail())
	require.False(t, silent.InvitedByMail())
	require.NotNil(t, e.RenewLinkAt(e.Signers[0]))
	require.Nil(t, e.RenewLinkAt(silent), "the sender would not receive the new link")
	require.Nil(t, e.ReminderAt(silent, nil, time.Hour))
	_, err = e.Resend(act(start.Add(time.Minute)), silent.ID)
	require.NoError(t, err)
	require.True(t, silent.InvitedByMail())
	_, err = e.IssueLink(act(start.Add(time.Hour)), silent.ID, true)
	require.NoError(t, err)
	require.False(t, silent.InvitedByMail(), "no email with the new link was requested")
}

// TestSavedSignature_NotOnAnotherDevice checks that a signature drawn on a host's device is not saved.
func TestSavedSignature_NotOnAnotherDevice(t *testing.T) {
	t.Parallel()
	for _, k := range []models.RecipientKind{models.RecipientSigner, models.RecipientInPerson} {
		s := models.Signer{Kind: k, AuthMethod: models.AuthSMSOTP}
		require.Equal(t, k == models.RecipientSigner, s.KeepsSignature(), k)
		s.AuthMethod = models.AuthNone
		require.False(t, s.KeepsSignature())
	}
}

// TestEditSigner_ChangesKind checks that a recipient in a draft can be changed to another kind without losing its
// position.
func TestEditSigner_ChangesKind(t *testing.T) {
	t.Parallel()
	e := withRecipients(t, recipient(0, func(*models.SignerInput) {}), recipient(1, kind(models.RecipientCopy)), recipient(2, kind(models.RecipientApprover)))
	id := e.Copies[0].ID
	_, err := e.EditSigner(act(start), e.Signers[0].ID, recipient(0, kind(models.RecipientCopy)))
	require.Equal(t, []string{"kind"}, problemsOf(t, err), "the signer has fields")
	_, err = e.EditSigner(act(start), id, recipient(1, kind(models.RecipientViewer)))
	require.NoError(t, err)
	require.Empty(t, e.Copies)
	require.Equal(t, id, e.Signers[1].ID, "the recipient keeps its position")
	_, err = e.EditSigner(act(start), id, recipient(1, kind(models.RecipientCopy)))
	require.NoError(t, err)
	require.Equal(t, 1, e.Copies[0].Position)
	_, err = e.AddFields(act(start), []models.FieldInput{field("1", models.FieldText)}, models.IndexedPath)
	require.Equal(t, []string{"fields[0].signerId"}, problemsOf(t, err), "an index counts all recipients in the request")
	_, err = e.AddFields(act(start), []models.FieldInput{field("2", models.FieldText)}, models.IndexedPath)
	require.NoError(t, err)
	require.Equal(t, e.Signers[1].ID, e.Fields[1].SignerID)
	require.NoError(t, e.RemoveSigner(act(start), id))
	require.Equal(t, 1, e.Signers[1].Position)
}

func TestRequestedAction_InPersonWithHost_IsASignature(t *testing.T) {
	t.Parallel()
	e := withRecipients(t, recipient(0, kind(models.RecipientApprover)), recipient(1, func(in *models.SignerInput) { in.Kind, in.Host = models.RecipientInPerson, host("hal@example.com") }))
	require.Equal(t, "approver", e.OwnAction(e.Signers[0]))
	require.Empty(t, e.OwnAction(e.Signers[1]))
}
