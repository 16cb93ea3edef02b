package api

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
)

// recipientView contains the members of a recipient that are not part of the original API. Empty members are omitted.
type recipientView struct {
	Role       string               `json:"role,omitempty"`
	Kind       models.RecipientKind `json:"kind,omitempty"`
	Language   string               `json:"language,omitempty"`
	Notify     *bool                `json:"notify,omitempty"` // false if the service sends no automatic emails
	Host       *hostView            `json:"host,omitempty"`
	WitnessFor string               `json:"witnessFor,omitempty"` // role of the witnessed signer
}

// hostView is the host who receives the link of an in-person signer.
type hostView struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

func viewRecipient(s *models.Signer) recipientView {
	v := recipientView{Role: s.Role, Kind: s.DisplayKind(), Language: s.Language, WitnessFor: s.WitnessFor}
	if s.Silent {
		v.Notify = new(bool)
	}
	if h := s.Host(); h != nil {
		v.Host = &hostView{h.Name, h.Email}
	}
	return v
}

// copyView represents a recipient who receives only the completed copies.
type copyView struct {
	ID           uuid.UUID           `json:"id"`
	Name         string              `json:"name"`
	Email        string              `json:"email"`
	RoutingOrder int                 `json:"routingOrder"`
	Status       models.SignerStatus `json:"status"` // pending, or sent once the routing order is reached
	recipientView
	Previous []previousView `json:"previous,omitempty"` // previous recipients of this copy
}

func viewCopy(s *models.Signer) copyView {
	return copyView{ID: s.ID, Name: s.Name, Email: s.Email, RoutingOrder: s.RoutingOrder, Status: s.Status, recipientView: viewRecipient(s), Previous: viewPrevious(s)}
}

// readRecipient reads the members of a signer that are not part of the original API.
func readRecipient(o *object, in *models.SignerInput) {
	in.Role, in.AllowDelegation = o.text("role"), o.flag("allowDelegation", false)
	in.Language, in.WitnessFor = strings.TrimSpace(o.text("language")), o.text("witnessFor")
	in.Silent = !o.flag("notify", true)
	if h := o.sub("host"); h != nil {
		in.Host = &models.Host{Name: plaintext.Visible(h.str("name")), Email: strings.TrimSpace(h.str("email"))}
	}
}

// recipientKind reads the kind of a recipient.
func recipientKind(o *object) models.RecipientKind {
	kind := o.optStr("kind")
	switch {
	case kind == nil:
		return models.RecipientSigner
	case *kind == "": // the empty string is only the internal value for a signer
		o.bad("kind", "must be %s", models.RecipientKindNames)
	}
	return models.RecipientKind(*kind)
}

type contextHost struct {
	Name string `json:"name"`
}

// witnessedView is the signer whose signature a witness confirms. Name is sent only to confirmed clients.
type witnessedView struct {
	SignerID uuid.UUID  `json:"signerId"`
	Role     string     `json:"role"`
	Name     *string    `json:"name"`
	SignedAt *time.Time `json:"signedAt"`
}
