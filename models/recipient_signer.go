package models

import (
	"cmp"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/internal/plaintext"
)

// SignerStatus is the state of a signer.
type SignerStatus string

// The states of a signer: pending until the routing group opens, sent after a link is issued, viewed after the link is
// opened.
const (
	SignerPending  SignerStatus = "pending"
	SignerSent     SignerStatus = "sent"
	SignerViewed   SignerStatus = "viewed"
	SignerSigned   SignerStatus = "signed"
	SignerDeclined SignerStatus = "declined"
)

// Signer is a recipient of an envelope.
type Signer struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	EnvelopeID   uuid.UUID
	Position     int // order of creation, from 0
	Name         string
	Email        string
	Phone        *string // E.164
	Mailbox      int     // position of the first signer with the same address
	RoutingOrder int     // from 1; signers sharing a value form one routing group
	Role         string  // the sender's name for the signer's part; "": none
	Kind         RecipientKind
	Language     string // BCP 47, of pages and messages; "": the tenant's
	Silent       bool   // the sender delivers the link; for emails see InvitedByMail
	WitnessFor   string // role of the signer whose signature this signer witnesses; "": not a witness
	Status       SignerStatus
	AuthMethod   AuthMethod
	HostName     string  // see Host
	HostEmail    *string // nil: there is no host

	// The signing link. A token is valid only if it contains the current LinkID.
	LinkID        *uuid.UUID
	LinkIssuedAt  *time.Time
	LinkExpiresAt *time.Time

	// The only valid code of the current link, stored as a keyed hash.
	OTPHash       []byte      `gorm:"column:otp_hash"`
	OTPExpiresAt  *time.Time  `gorm:"column:otp_expires_at"`
	OTPFailures   int         `gorm:"column:otp_failures"`                 // wrong tries at the live code
	OTPWrong      int         `gorm:"column:otp_wrong"`                    // wrong tries at all codes of the link
	OTPRequests   []time.Time `gorm:"column:otp_requests;serializer:json"` // the newest ones, at most OTPRequestLimit
	OTPVerifiedAt *time.Time  `gorm:"column:otp_verified_at"`

	// The client that confirmed a code, see Confirmed.
	SessionHash []byte // SHA-256 of the session's token; nil: the confirmation is not bound to a session
	ConfirmedBy []byte // the address and user agent that confirmed

	ViewedAt       *time.Time
	ConsentAt      *time.Time
	ConsentVersion string
	SignedAt       *time.Time
	DeclinedAt     *time.Time
	IP             string // address at signing
	UserAgent      string
	PageViews      int
	LastViewed     string  // "<document id>/<page>" of the newest page view
	Pages          PageLog `gorm:"serializer:json"`
	// Opened lists the opened documents of a recipient who must open all of them.
	Opened []uuid.UUID `gorm:"serializer:json"`

	// PreviousJSON lists the former signers, see Previous; nil: none.
	PreviousJSON *string `gorm:"column:previous"`
	// AllowDelegation permits the signer to delegate. Delegated reports whether the signer has delegated.
	AllowDelegation bool
	Delegated       bool
	// Resends and Copies are the times of recent requests for a new invitation and for the sealed files.
	Resends []time.Time `gorm:"serializer:json"`
	Copies  []time.Time `gorm:"serializer:json"`
	// RemindedAt is the time of the sender's last reminder request.
	RemindedAt *time.Time

	// ValuesHash is valuesSha256 of the signer's signed values; "" before signing.
	ValuesHash string
	// Values of other signers delivered to the link: the newest digest, and the signers it covers. After signing, the
	// values recorded with the signature.
	Shown          string
	ShownSigners   []uuid.UUID `gorm:"serializer:json"`
	ShownConfirmed bool        // the request to sign named the digest
	// Downloads is the time of the newest recorded download of each sealed document.
	Downloads map[uuid.UUID]time.Time `gorm:"serializer:json"`
}

// SignerInput is the input for a signer.
type SignerInput struct {
	Name         string
	Email        string
	Phone        *string
	RoutingOrder int
	AuthMethod   AuthMethod
	Role         string // unique in its envelope; "": none
	// AllowDelegation permits the signer to delegate.
	AllowDelegation bool
	Kind            RecipientKind // "": signer
	Language        string        // BCP 47; "": the tenant's
	Silent          bool          // the sender delivers the link; the service sends no email
	Host            *Host         // of an in-person signer
	WitnessFor      string        // role of the witnessed signer, whose routing order applies if RoutingOrder is 0
}

// maxRole limits the name of a role, in characters.
const maxRole = 64

// languageTag matches a well-formed BCP 47 tag: a language and its subtags.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}$`)

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// Check records the problems of the input under path ("" or "signers[0].").
func (in SignerInput) Check(p Problems, path string) {
	CheckText(p, path+"name", in.Name, 1, 255)
	CheckEmail(p, path+"email", in.Email)
	if in.Phone != nil && !e164.MatchString(*in.Phone) {
		p.Add(path+"phone", "must be a phone number in E.164 form, such as +4915112345678")
	}
	if (in.RoutingOrder < 1 || in.RoutingOrder > 1000) && (in.RoutingOrder != 0 || in.WitnessFor == "") {
		p.Add(path+"routingOrder", "must be between 1 and 1000")
	}
	CheckText(p, path+"role", in.Role, 0, maxRole)
	switch {
	case !in.AuthMethod.Valid():
		p.Add(path+"authMethod", "must be %s", AuthMethodNames)
	case in.AuthMethod.ByPhone() && in.Phone == nil:
		p.Add(path+"phone", "is required when authMethod is %s", in.AuthMethod)
	}
	in.checkRecipient(p, path)
}

// apply copies the input to a signer.
func (in SignerInput) apply(s *Signer) {
	s.Name, s.Email, s.Phone, s.RoutingOrder, s.AuthMethod = in.Name, in.Email, in.Phone, in.RoutingOrder, in.AuthMethod
	s.Role, s.AllowDelegation = in.Role, in.AllowDelegation
	s.Kind, s.Language, s.Silent, s.WitnessFor = cmp.Or(in.Kind, RecipientSigner), in.Language, in.Silent, in.WitnessFor
	s.RoutingOrder = max(in.RoutingOrder, 1)
	s.HostName, s.HostEmail = "", nil
	if in.Host != nil {
		s.HostName, s.HostEmail = in.Host.Name, new(in.Host.Email)
	}
}

// input returns the input that would create the signer again.
func (s *Signer) input() SignerInput {
	return SignerInput{
		Name: s.Name, Email: s.Email, Phone: s.Phone, RoutingOrder: s.RoutingOrder, AuthMethod: s.AuthMethod, Role: s.Role,
		AllowDelegation: s.AllowDelegation, Kind: s.Kind, Language: s.Language, Silent: s.Silent, Host: s.Host(), WitnessFor: s.WitnessFor,
	}
}

// AddSigner adds a signer to a draft.
func (e *Envelope) AddSigner(act ActionContext, in SignerInput) (*Signer, error) {
	if err := e.check(ActionAddSigner); err != nil {
		return nil, err
	}
	p := Problems{}
	in.Check(p, "")
	all := e.Recipients()
	if in.Role != "" && slices.ContainsFunc(all, func(s *Signer) bool { return s.Role == in.Role }) {
		p.Add("role", "is the role of another signer")
	}
	e.checkOwnWitness(p, in)
	if len(all) >= MaxSigners {
		p.Add("signers", "an envelope can have at most %d signers", MaxSigners)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	s := &Signer{
		ID: act.NewID(), EnvelopeID: e.ID, Position: len(all), Mailbox: e.mailbox(in.Email, len(all)), Status: SignerPending,
	}
	in.apply(s)
	e.Place(s)
	e.alignWitnesses()
	e.record(act, EventSignerAdded, s.ID, s.kindDetail(Detail{
		"signerId": s.ID.String(), "routingOrder": s.RoutingOrder, "authMethod": string(s.AuthMethod),
	}))
	return s, nil
}

// mailbox returns the position of the first signer with an address, or position if no signer has it yet. It permits
// counting people without reading addresses.
func (e *Envelope) mailbox(email string, position int) int {
	if s := find(e.Recipients(), func(s *Signer) bool { return EmailKey(s.Email) == EmailKey(email) }); s != nil {
		return s.Mailbox
	}
	return position
}

// NeedsCode reports whether the signer must verify a one-time code.
func (s *Signer) NeedsCode() bool { return s.AuthMethod.rules().needsCode }

// HasActed reports whether the signer has signed or declined.
func (s *Signer) HasActed() bool { return s.Status == SignerSigned || s.Status == SignerDeclined }

// Awaited reports whether the signer's group is open and they have not acted.
func (s *Signer) Awaited() bool { return s.Status == SignerSent || s.Status == SignerViewed }

// MaskedEmail shows enough of the address to recognise it: "a***@example.com".
func (s *Signer) MaskedEmail() string {
	name, domain, ok := strings.Cut(s.Email, "@")
	if !ok || name == "" {
		return "***"
	}
	first := []rune(name)[:1]
	return string(first) + "***@" + domain
}

// MaskedPhone shows the last two digits; "" without a phone.
func (s *Signer) MaskedPhone() string {
	if s.Phone == nil || len(*s.Phone) < 4 {
		return ""
	}
	return "***" + (*s.Phone)[len(*s.Phone)-2:]
}

// CheckEmail records at path the problems of an email address.
func CheckEmail(p Problems, path, s string) {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 || strings.ContainsFunc(s, plaintext.Hidden) {
		p.Add(path, "must be an e-mail address")
	}
}
