package models

import "slices"

// Status is the state of an envelope.
type Status string

// The states of an envelope. Clients see StatusSealing as in_progress. In that state everyone has signed, and the
// envelope can no longer expire, be voided by the sender, or be declined.
const (
	StatusDraft      Status = "draft"
	StatusSent       Status = "sent"
	StatusInProgress Status = "in_progress"
	StatusSealing    Status = "sealing"
	StatusCompleted  Status = "completed"
	StatusDeclined   Status = "declined"
	StatusVoided     Status = "voided"
	StatusExpired    Status = "expired"
	// StatusDeleted is the state of a deleted draft. Only its audit chain remains, and no request can access it.
	StatusDeleted Status = "deleted"
)

// Statuses lists all states in the order in which an envelope reaches them.
var Statuses = []Status{
	StatusDraft, StatusSent, StatusInProgress, StatusSealing,
	StatusCompleted, StatusDeclined, StatusVoided, StatusExpired, StatusDeleted,
}

// Public returns the state as shown to clients.
func (s Status) Public() Status {
	if s == StatusSealing {
		return StatusInProgress
	}
	return s
}

// Terminal reports whether no transition leaves the state. Workflows call it, so it must not iterate over a map.
func (s Status) Terminal() bool {
	return slices.Contains([]Status{StatusCompleted, StatusDeclined, StatusVoided, StatusExpired, StatusDeleted}, s)
}

// Valid reports whether s is one of Statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses, s) }

// Open reports whether signers can act.
func (s Status) Open() bool { return s == StatusSent || s == StatusInProgress }

// Action is an action on an envelope.
type Action string

// The actions on an envelope. ActionSignLast is the signature after which no other signer is awaited.
const (
	ActionAddDocument Action = "add_document"
	ActionAddSigner   Action = "add_signer"
	ActionAddField    Action = "add_field"
	ActionSend        Action = "send"
	ActionInvite      Action = "invite"
	ActionOpen        Action = "open"
	ActionRequestCode Action = "request_code"
	ActionVerifyCode  Action = "verify_code"
	ActionConsent     Action = "consent"
	ActionViewPage    Action = "view_page"
	ActionRead        Action = "read"
	ActionSign        Action = "sign"
	ActionSignLast    Action = "sign_last"
	ActionDecline     Action = "decline"
	ActionVoid        Action = "void"
	ActionExpire      Action = "expire"
	ActionComplete    Action = "complete"
	ActionFailSealing Action = "fail_sealing"
	ActionVoidStuck   Action = "void_stuck"

	// Actions on a draft, except additions.
	ActionEditEnvelope   Action = "edit_envelope"
	ActionEditSigner     Action = "edit_signer"
	ActionRemoveSigner   Action = "remove_signer"
	ActionEditField      Action = "edit_field"
	ActionRemoveField    Action = "remove_field"
	ActionEditDocument   Action = "edit_document"
	ActionRemoveDocument Action = "remove_document"
	ActionDelete         Action = "delete"

	// Corrections after sending.
	ActionReplace    Action = "replace"
	ActionResend     Action = "resend"
	ActionRemind     Action = "remind"
	ActionIssueLink  Action = "issue_link"
	ActionReschedule Action = "reschedule"
	ActionDelegate   Action = "delegate"
	ActionSendCopies Action = "send_copies"
)

// transitions defines the complete life cycle of an envelope: state × action → next state. Actions that are not listed
// are rejected.
var transitions = map[Status]map[Action]Status{
	StatusDraft: {
		ActionAddDocument: StatusDraft,
		ActionAddSigner:   StatusDraft,
		ActionAddField:    StatusDraft,
		ActionSend:        StatusSent,
		ActionVoid:        StatusVoided,

		ActionEditEnvelope:   StatusDraft,
		ActionEditSigner:     StatusDraft,
		ActionRemoveSigner:   StatusDraft,
		ActionEditField:      StatusDraft,
		ActionRemoveField:    StatusDraft,
		ActionEditDocument:   StatusDraft,
		ActionRemoveDocument: StatusDraft,
		ActionDelete:         StatusDeleted,
	},
	StatusSent:       openTransitions(StatusSent),
	StatusInProgress: openTransitions(StatusInProgress),
	StatusSealing: {
		ActionComplete:    StatusCompleted,
		ActionFailSealing: StatusSealing,
		ActionVoidStuck:   StatusVoided,
	},
	StatusCompleted: {
		ActionSendCopies: StatusCompleted,
	},
	StatusDeclined: {},
	StatusVoided:   {},
	StatusExpired:  {},
	StatusDeleted:  {},
}

// openTransitions returns the transitions of the two states in which signers can act. A signer's action moves the
// envelope to in_progress, while a sender's correction does not change the state.
func openTransitions(state Status) map[Action]Status {
	return map[Action]Status{
		ActionOpen:        StatusInProgress,
		ActionRequestCode: StatusInProgress,
		ActionVerifyCode:  StatusInProgress,
		ActionConsent:     StatusInProgress,
		ActionViewPage:    StatusInProgress,
		ActionDelegate:    StatusInProgress,
		ActionSign:        StatusInProgress,
		ActionSignLast:    StatusSealing,
		ActionDecline:     StatusDeclined,
		ActionVoid:        StatusVoided,
		ActionExpire:      StatusExpired,

		ActionRead:       state,
		ActionInvite:     state,
		ActionReplace:    state,
		ActionResend:     state,
		ActionRemind:     state,
		ActionIssueLink:  state,
		ActionReschedule: state,
	}
}

// Next returns the state after the action, or an error if s does not permit the action.
func (s Status) Next(action Action) (Status, error) {
	if to, ok := transitions[s][action]; ok {
		return to, nil
	}
	return s, rejection(s, action)
}

// rejection returns the error for an action that state s does not permit, with the HTTP status that is documented for
// the action's endpoint.
func rejection(s Status, action Action) *Error {
	switch action {
	case ActionAddDocument, ActionAddSigner, ActionAddField, ActionSend:
		return Reject(KindInvalid, "envelope_not_draft", "The envelope is %s; only a draft can be changed or sent.", s.Public())
	case ActionEditEnvelope, ActionEditSigner, ActionRemoveSigner, ActionEditField, ActionRemoveField, ActionEditDocument, ActionRemoveDocument,
		ActionDelete:
		return Reject(KindConflict, "envelope_not_draft", "The envelope is %s; only a draft can be edited or deleted.", s.Public())
	case ActionReplace, ActionResend, ActionRemind, ActionIssueLink, ActionReschedule:
		conflict := *rejection(s, ActionInvite)
		conflict.Kind = KindConflict
		return &conflict
	case ActionSendCopies:
		return Reject(KindConflict, "envelope_not_completed", "The envelope is %s; there is no sealed document yet.", s.Public())
	case ActionVoid, ActionExpire, ActionInvite:
		if s == StatusSealing {
			return Reject(KindInvalid, "envelope_sealing", "Everyone has signed and the documents are being sealed; the envelope can no longer be closed.")
		}
		if s == StatusDraft {
			return Reject(KindInvalid, "envelope_draft", "The envelope has not been sent.")
		}
		return Reject(KindInvalid, "envelope_terminal", "The envelope is already %s.", s.Public())
	case ActionVoidStuck:
		return Reject(KindConflict, "envelope_not_sealing", "The envelope is %s; only a fully signed envelope that cannot be sealed can be voided this way.", s.Public())
	case ActionComplete, ActionFailSealing:
		return Reject(KindConflict, "envelope_not_sealing", "The envelope is %s; there is nothing to complete.", s.Public())
	case ActionOpen, ActionRequestCode, ActionVerifyCode, ActionConsent, ActionViewPage, ActionRead,
		ActionSign, ActionSignLast, ActionDecline, ActionDelegate:
		// The link is no longer valid, which results in a 401 response.
		return Reject(KindUnauthorized, "signing_link_closed", "This signing link is no longer valid: the envelope is %s.", s.Public())
	}
	return Reject(KindInvalid, "unknown_action", "Unknown action %q.", string(action))
}
