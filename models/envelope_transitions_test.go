package models_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// pathTo repeats the transition table with the literal names of states and actions. Actions that it does not contain
// must be rejected.
var pathTo = map[models.Status]map[models.Action]models.Status{
	"draft": {
		"add_document": "draft", "add_signer": "draft", "add_field": "draft", "send": "sent", "void": "voided",
		"edit_envelope": "draft", "edit_signer": "draft", "remove_signer": "draft", "edit_field": "draft", "remove_field": "draft",
		"edit_document": "draft", "remove_document": "draft", "delete": "deleted",
	},
	"sent": {
		"invite": "sent", "read": "sent", "open": "in_progress", "request_code": "in_progress", "verify_code": "in_progress",
		"consent": "in_progress", "view_page": "in_progress", "sign": "in_progress", "sign_last": "sealing",
		"decline": "declined", "void": "voided", "expire": "expired",
		"replace": "sent", "resend": "sent", "remind": "sent", "issue_link": "sent", "reschedule": "sent", "delegate": "in_progress",
	},
	"in_progress": {
		"invite": "in_progress", "read": "in_progress", "open": "in_progress", "request_code": "in_progress", "verify_code": "in_progress",
		"consent": "in_progress", "view_page": "in_progress", "sign": "in_progress", "sign_last": "sealing",
		"decline": "declined", "void": "voided", "expire": "expired",
		"replace": "in_progress", "resend": "in_progress", "remind": "in_progress", "issue_link": "in_progress", "reschedule": "in_progress", "delegate": "in_progress",
	},
	"completed": {"send_copies": "completed"},
	"sealing":   {"complete": "completed", "fail_sealing": "sealing", "void_stuck": "voided"},
}

// actions returns the constants of type Action, parsed from the source file so that the list is complete.
func actions(t *testing.T) []models.Action {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "envelope_transitions.go", nil, 0)
	require.NoError(t, err)
	var all []models.Action
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Action" {
			for _, value := range spec.Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				require.NoError(t, err)
				all = append(all, models.Action(text))
			}
		}
		return false
	})
	return all
}

func TestEveryStateAndAction(t *testing.T) {
	t.Parallel()
	for _, s := range models.Statuses {
		for _, a := range actions(t) {
			t.Run(string(s)+"/"+string(a), func(t *testing.T) {
				t.Parallel()
				want, allowed := pathTo[s][a]
				got, err := s.Next(a)
				if allowed {
					require.NoError(t, err)
					assert.Equal(t, want, got)
					return
				}
				var rejection *models.Error
				require.ErrorAs(t, err, &rejection)
				assert.Equal(t, s, got, "a rejected transition must have no target state")
				assert.NotEmpty(t, rejection.Code)
				assert.NotEmpty(t, rejection.Message)
				assert.NotContains(t, rejection.Message, "sealing,", "clients do not know this state")
			})
		}
	}
}

func TestTerminalStates(t *testing.T) {
	t.Parallel()
	want := map[models.Status]bool{"completed": true, "declined": true, "voided": true, "expired": true, "deleted": true}
	for _, s := range models.Statuses {
		assert.Equal(t, want[s], s.Terminal(), s)
	}
	assert.False(t, models.Status("nonsense").Terminal())
	assert.False(t, models.Status("nonsense").Valid())
	assert.Equal(t, models.StatusInProgress, models.StatusSealing.Public())
}

func TestErrors_HaveTheDocumentedStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state  models.Status
		action models.Action
		kind   models.Kind
		code   string
	}{
		{models.StatusSent, models.ActionSend, models.KindInvalid, "envelope_not_draft"},
		{models.StatusCompleted, models.ActionAddSigner, models.KindInvalid, "envelope_not_draft"},
		{models.StatusSent, models.ActionEditEnvelope, models.KindConflict, "envelope_not_draft"},
		{models.StatusSealing, models.ActionDelete, models.KindConflict, "envelope_not_draft"},
		{models.StatusVoided, models.ActionReplace, models.KindConflict, "envelope_terminal"},
		{models.StatusSealing, models.ActionReschedule, models.KindConflict, "envelope_sealing"},
		{models.StatusDraft, models.ActionResend, models.KindConflict, "envelope_draft"},
		{models.StatusSent, models.ActionSendCopies, models.KindConflict, "envelope_not_completed"},
		{models.StatusCompleted, models.ActionVoid, models.KindInvalid, "envelope_terminal"},
		{models.StatusVoided, models.ActionVoid, models.KindInvalid, "envelope_terminal"},
		{models.StatusSealing, models.ActionVoid, models.KindInvalid, "envelope_sealing"},
		{models.StatusVoided, models.ActionSign, models.KindUnauthorized, "signing_link_closed"},
		{models.StatusExpired, models.ActionOpen, models.KindUnauthorized, "signing_link_closed"},
		{models.StatusDraft, models.ActionComplete, models.KindConflict, "envelope_not_sealing"},
		{models.StatusVoided, models.ActionComplete, models.KindConflict, "envelope_not_sealing"},
		{models.StatusCompleted, models.ActionFailSealing, models.KindConflict, "envelope_not_sealing"},
		{models.StatusInProgress, models.ActionVoidStuck, models.KindConflict, "envelope_not_sealing"},
		{models.StatusCompleted, models.ActionVoidStuck, models.KindConflict, "envelope_not_sealing"},
	} {
		_, err := c.state.Next(c.action)
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection)
		assert.Equal(t, c.kind, rejection.Kind, "%s/%s", c.state, c.action)
		assert.Equal(t, c.code, rejection.Code, "%s/%s", c.state, c.action)
	}
}

// TestRejectedActions_HaveErrorCodes checks that every action that a state does not permit is rejected with the
// action's error code.
func TestRejectedActions_HaveErrorCodes(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []models.Status{"draft", "sent", "in_progress", "sealing", "completed", "declined", "voided", "expired", "deleted"}, models.Statuses)
	want := func(s models.Status, a models.Action) string {
		switch a {
		case "add_document", "add_signer", "add_field", "send",
			"edit_envelope", "edit_signer", "remove_signer", "edit_field", "remove_field", "edit_document", "remove_document", "delete":
			return "envelope_not_draft"
		case "send_copies":
			return "envelope_not_completed"
		case "void", "expire", "invite", "replace", "resend", "remind", "issue_link", "reschedule":
			return map[models.Status]string{"sealing": "envelope_sealing", "draft": "envelope_draft"}[s]
		case "complete", "fail_sealing", "void_stuck":
			return "envelope_not_sealing"
		case "read", "open", "request_code", "verify_code", "consent", "view_page", "sign", "sign_last", "decline", "delegate":
			return "signing_link_closed"
		}
		return "an action that is not here"
	}
	for _, s := range models.Statuses {
		for _, a := range actions(t) {
			if _, allowed := pathTo[s][a]; allowed {
				continue
			}
			code := want(s, a)
			if code == "" {
				code = "envelope_terminal"
			}
			_, err := s.Next(a)
			var rejection *models.Error
			require.ErrorAs(t, err, &rejection)
			assert.Equal(t, code, rejection.Code, "%s/%s", s, a)
		}
	}
}

func TestErrors_AreComparedByCode(t *testing.T) {
	t.Parallel()
	err := errors.Join(errors.New("load"), models.Reject(models.KindNotFound, "not_found", "other words"))
	require.ErrorIs(t, err, models.ErrNotFound)
	require.NotErrorIs(t, models.Reject(models.KindGone, "gone", ""), models.ErrNotFound)
	assert.True(t, models.IsRejection(err))
	assert.False(t, models.IsRejection(errors.New("disk full")))
	assert.False(t, models.IsRejection(models.Reject(models.KindUnavailable, "later", "")), "temporary problems are retried")
}

// TestClosedEnvelope_RejectsByAudience checks that the error for an action on a closed envelope is about the link for
// a signer, and about the envelope for a sender.
func TestClosedEnvelope_RejectsByAudience(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	l, s := link(e, 0), e.Signers[0].ID
	require.NoError(t, e.Void(act(start), nil))
	_, open := e.Open(act(start), l)
	_, read := e.Reader(l, start, false)
	_, requested := e.RequestCode(act(start), l, nil)
	_, verified := e.VerifyCode(act(start), l, nil, nil)
	_, consent := e.Consent(act(start), l, new(models.Signer).Disclosure("en"))
	_, sign := e.Sign(act(start), l, models.Submission{})
	_, decline := e.Decline(act(start), l, nil, false)
	for name, err := range map[string]error{
		"open": open, "read": read, "request": requested, "verify": verified, "consent": consent, "sign": sign, "decline": decline,
		"view": e.ViewPage(act(start), l, e.Documents[0].ID, 1, 0, nil), "may sign": e.CheckSign(act(start), l),
	} {
		assert.Equal(t, "signing_link_closed", code(t, err), name)
	}
	for name, err := range map[string]error{
		"invited": e.Invited(act(start), s, false, ""), "not reached": e.InvitationFailed(act(start), s, "unknown", ""),
		"new link": e.RenewLink(act(start), s), "invite again": e.Reinvite(act(start), s), "void": e.Void(act(start), nil),
	} {
		assert.Equal(t, "envelope_terminal", code(t, err), name)
	}
}

// TestLists_AreComplete checks that the lists used by other tests contain every value exactly once.
func TestLists_AreComplete(t *testing.T) {
	t.Parallel()
	known := map[models.Action]bool{}
	for _, moves := range pathTo {
		for action := range moves {
			known[action] = true
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(known)), actions(t))
	require.ElementsMatch(t, []models.EventName{
		"envelope.created", "envelope.sent", "envelope.completed", "envelope.declined", "envelope.voided", "envelope.expired",
		"signer.viewed", "signer.signed", "signer.declined", "signer.otp_failed",
		"invitation.failed", "reminder.sent", "signer.replaced", "signer.delegated", "copy.sent", "link.issued", "envelope.updated",
		"document.timestamped", "document.purged", "bulk.completed",
	}, models.WebhookEvents)
	open := map[models.Status]bool{models.StatusSent: true, models.StatusInProgress: true}
	for _, s := range models.Statuses {
		require.Equal(t, open[s], s.Open(), s)
	}
	awaited := map[models.SignerStatus]bool{models.SignerSent: true, models.SignerViewed: true}
	done := map[models.SignerStatus]bool{models.SignerSigned: true, models.SignerDeclined: true}
	for _, s := range []models.SignerStatus{models.SignerPending, models.SignerSent, models.SignerViewed, models.SignerSigned, models.SignerDeclined} {
		require.Equal(t, awaited[s], (&models.Signer{Status: s}).Awaited(), s)
		require.Equal(t, done[s], (&models.Signer{Status: s}).HasActed(), s)
	}
	for typ, image := range map[models.FieldType]bool{
		models.FieldSignature: true, models.FieldInitial: true, models.FieldDate: false, models.FieldText: false, models.FieldCheckbox: false,
	} {
		require.Equal(t, image, typ.Image(), typ)
	}
}

func TestNext_UnknownAction_IsRejected(t *testing.T) {
	t.Parallel()
	for _, s := range models.Statuses {
		_, err := s.Next("dance")
		require.Equal(t, "unknown_action", code(t, err), s)
	}
}
