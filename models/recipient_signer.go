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

// SignerStatus is the status of a signer.
type SignerStatus string

// The statuses of a signer. A signer is pending until the routing group opens, sent once a link has been issued, and
// viewed once the link has been opened.
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
	Position     int // order of creation, starting at 0
	Name         string
	Email        string
	Phone        *string // E.164
	Mailbox      int     // position of the first signer with the same address
	RoutingOrder int     // starts at 1; signers with the same value form a routing group
	Role         string  // name that the sender assigned to the signer's role, or ""
	Kind         RecipientKind
	Language     string // BCP 47 language of pages and messages; "" for the tenant's
	Silent       bool   // whether the sender delivers the link; see InvitedByMail for emails
	WitnessFor   string // role of the signer whose signature this signer witnesses, or ""
	Status       SignerStatus
	AuthMethod   AuthMethod
	HostName     string  // see Host
	HostEmail    *string // nil if there is no host

	// The signing link. A token is valid only if it contains the current LinkID.
	LinkID        *uuid.UUID
	LinkIssuedAt  *time.Time
	LinkExpiresAt *time.Time

	// The only valid code for the current link, stored as a keyed hash.
	OTPHash       []byte      `gorm:"column:otp_hash"`
	OTPExpiresAt  *time.Time  `gorm:"column:otp_expires_at"`
	OTPFailures   int         `gorm:"column:otp_failures"`                 // wrong attempts at the current code
	OTPWrong      int         `gorm:"column:otp_wrong"`                    // wrong attempts at all codes of the link
	OTPRequests   []time.Time `gorm:"column:otp_requests;serializer:json"` // latest requests, at most OTPRequestLimit
	OTPVerifiedAt *time.Time  `gorm:"column:otp_verified_at"`

	// The client that entered a valid code (see Confirmed).
	SessionHash []byte // SHA-256 of the session's token; nil if the confirmation is not bound to a session
	ConfirmedBy []byte // address and user agent of the client

	ViewedAt       *time.Time
	ConsentAt      *time.Time
	ConsentVersion string
	SignedAt       *time.Time
	DeclinedAt     *time.Time
	IP             string // IP address at signing
	UserAgent      string
	PageViews      int
	LastViewed     string  // "<document id>/<page>" of the latest page view
	Pages          PageLog `gorm:"serializer:json"`
	// Opened lists the documents opened by a recipient who must open all of them.
	Opened []uuid.UUID `gorm:"serializer:json"`

	// PreviousJSON lists the former signers (see Previous). It is nil if nobody was replaced.
	PreviousJSON *string `gorm:"column:previous"`
	// AllowDelegation permits the signer to delegate. Delegated reports whether the signer has delegated.
	AllowDelegation bool
	Delegated       bool
	// Resends and Copies contain the times of recent requests for a new invitation and for the sealed files.
	Resends []time.Time `gorm:"serializer:json"`
	Copies  []time.Time `gorm:"serializer:json"`
	// RemindedAt is the time of the sender's latest reminder request.
	RemindedAt *time.Time

	// ValuesHash is the valuesSha256 of the signer's signed values, or "" before signing.
	ValuesHash string
	// The digest of the other signers' values that were last shown to the link's holder, and the signers whose values
	// it covers. After signing, these are the digest and signers recorded with the signature.
	Shown          string
	ShownSigners   []uuid.UUID `gorm:"serializer:json"`
	ShownConfirmed bool        // whether the request to sign contained the digest
	// Downloads contains the time of the latest recorded download of each sealed document.
	Downloads map[uuid.UUID]time.Time `gorm:"serializer:json"`
}

// SignerInput is the input for a signer.
type SignerInput struct {
	Name         string
	Email        string
	Phone        *string
	RoutingOrder int
	AuthMethod   AuthMethod
	Role         string // unique within the envelope, or ""
	// AllowDelegation permits the signer to delegate.
	AllowDelegation bool
	Kind            RecipientKind // default RecipientSigner
	Language        string        // BCP 47; "" for the tenant's
	Silent          bool          // whether the sender, rather than the service, delivers the link
	Host            *Host         // host of an in-person signer
	WitnessFor      string        // role of the witnessed signer, whose routing order is used if RoutingOrder is 0
}

// maxRole is the maximum length of a role's name, in characters.
const maxRole = 64

// languageTag matches a well-formed BCP 47 tag, which consists of a language and its subtags.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}$`)

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// Check records the problems of the input. Their paths begin with path, which is "" or "signers[0].".
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

// input returns the input that would create the same signer.
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
	e.AddRecipient(s)
	e.alignWitnesses()
	e.record(act, EventSignerAdded, s.ID, s.kindDetail(Detail{
		"signerId": s.ID.String(), "routingOrder": s.RoutingOrder, "authMethod": string(s.AuthMethod),
	}))
	return s, nil
}

// mailbox returns the position of the first signer with an address, or the given position if there is none yet. Signers
// with the same mailbox are one person, so people can be counted without decrypting addresses.
func (e *Envelope) mailbox(email string, position int) int {
	if s := find(e.Recipients(), func(s *Signer) bool { return EmailKey(s.Email) == EmailKey(email) }); s != nil {
		return s.Mailbox
	}
	return position
}

// NeedsCode reports whether the signer must enter a one-time code.
func (s *Signer) NeedsCode() bool { return s.AuthMethod.rules().needsCode }

// HasActed reports whether the signer has signed or declined.
func (s *Signer) HasActed() bool { return s.Status == SignerSigned || s.Status == SignerDeclined }

// Awaited reports whether the signer can act and has not acted yet.
func (s *Signer) Awaited() bool { return s.Status == SignerSent || s.Status == SignerViewed }

// MaskedEmail returns the address in a masked but recognizable form, such as "a***@example.com".
func (s *Signer) MaskedEmail() string {
	name, domain, ok := strings.Cut(s.Email, "@")
	if !ok || name == "" {
		return "***"
	}
	first := []rune(name)[:1]
	return string(first) + "***@" + domain
}

// MaskedPhone returns the phone number with only its last two digits visible, or "" if there is none.
func (s *Signer) MaskedPhone() string {
	if s.Phone == nil || len(*s.Phone) < 4 {
		return ""
	}
	return "***" + (*s.Phone)[len(*s.Phone)-2:]
}

// CheckEmail records the problems with an email address at path.
func CheckEmail(p Problems, path, s string) {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 || strings.ContainsFunc(s, plaintext.Hidden) {
		p.Add(path, "must be an email address")
	}
}
