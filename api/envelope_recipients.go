package api

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
)

// recipientView is what answers say of a recipient who is not an ordinary signer of
// the interface; each member is there where there is something to tell.
type recipientView struct {
	Role       string               `json:"role,omitempty"`
	Kind       models.RecipientKind `json:"kind,omitempty"`
	Language   string               `json:"language,omitempty"`
	Notify     *bool                `json:"notify,omitempty"` // false: the service sends no mail by itself
	Host       *hostView            `json:"host,omitempty"`
	WitnessFor string               `json:"witnessFor,omitempty"` // a role
}

// hostView is who gets an in-person signer's link.
type hostView struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

func viewRecipient(s *models.Signer) recipientView {
	v := recipientView{Role: s.Role, Kind: s.ShownKind(), Language: s.Language, WitnessFor: s.WitnessFor}
	if s.Silent {
		v.Notify = new(bool)
	}
	if h := s.Host(); h != nil {
		v.Host = &hostView{h.Name, h.Email}
	}
	return v
}

// copyView is a recipient who gets the sealed files and signs nothing.
type copyView struct {
	ID           uuid.UUID           `json:"id"`
	Name         string              `json:"name"`
	Email        string              `json:"email"`
	RoutingOrder int                 `json:"routingOrder"`
	Status       models.SignerStatus `json:"status"` // pending, or sent where the routing order was reached
	recipientView
	Previous []previousView `json:"previous,omitempty"` // who was to get the copy before
}

func viewCopy(s *models.Signer) copyView {
	return copyView{ID: s.ID, Name: s.Name, Email: s.Email, RoutingOrder: s.RoutingOrder, Status: s.Status, recipientView: viewRecipient(s), Previous: viewPrevious(s)}
}

// readRecipient reads what a signer request says beyond the interface.
func readRecipient(o *object, in *models.SignerInput) {
	in.Role, in.AllowDelegation = o.text("role"), o.flag("allowDelegation", false)
	in.Language, in.WitnessFor = strings.TrimSpace(o.text("language")), o.text("witnessFor")
	in.Silent = !o.flag("notify", true)
	if h := o.sub("host"); h != nil {
		in.Host = &models.Host{Name: plaintext.Visible(h.str("name")), Email: strings.TrimSpace(h.str("email"))}
	}
}

// recipientKind reads which kind of recipient is asked for.
func recipientKind(o *object) models.RecipientKind {
	kind := o.optStr("kind")
	switch {
	case kind == nil:
		return models.RecipientSigner
	case *kind == "": // which stands for a signer elsewhere
		o.bad("kind", "must be signer, approver, viewer, copy or in_person")
	}
	return models.RecipientKind(*kind)
}

type contextHost struct {
	Name string `json:"name"`
}

// witnessedView is whose signature a witness is to confirm; names are for a confirmed client.
type witnessedView struct {
	SignerID uuid.UUID  `json:"signerId"`
	Role     string     `json:"role"`
	Name     *string    `json:"name"`
	SignedAt *time.Time `json:"signedAt"`
}
