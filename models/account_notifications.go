package models

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// NotificationKind is a kind of notification that console users can receive about the envelopes they sent.
type NotificationKind string

// The kinds of notifications.
const (
	NotifyCompleted      NotificationKind = "completed"
	NotifyDeclined       NotificationKind = "declined"
	NotifyExpired        NotificationKind = "expired"
	NotifyBounced        NotificationKind = "bounced"
	NotifySealingProblem NotificationKind = "sealingProblem"
	NotifyOpened         NotificationKind = "opened"
	NotifySigned         NotificationKind = "signed"
)

// NotificationKinds lists all kinds of notifications, starting with those that are enabled by default.
var NotificationKinds = []NotificationKind{
	NotifyCompleted, NotifyDeclined, NotifyExpired, NotifyBounced, NotifySealingProblem, NotifyOpened, NotifySigned,
}

// Default reports whether the notification is enabled by default.
func (k NotificationKind) Default() bool { return k != NotifyOpened && k != NotifySigned }

// Problem reports whether the notification is about a problem that the sender must solve.
func (k NotificationKind) Problem() bool {
	return k == NotifyDeclined || k == NotifyBounced || k == NotifySealingProblem
}

// NotificationOf returns the kind of notification for an event, or "" if the event causes no notification.
func NotificationOf(name EventName) NotificationKind {
	switch name { //nolint:exhaustive // other events cause no notification
	case EventEnvelopeCompleted:
		return NotifyCompleted
	case EventSignerDeclined:
		return NotifyDeclined
	case EventEnvelopeExpired:
		return NotifyExpired
	case EventInvitationFailed:
		return NotifyBounced
	case EventSealingFailed:
		return NotifySealingProblem
	case EventSignerViewed:
		return NotifyOpened
	case EventSignerSigned:
		return NotifySigned
	}
	return ""
}

// NotificationFrequency specifies how often a user receives notifications.
type NotificationFrequency string

// The notification frequencies.
const (
	NotifyImmediately NotificationFrequency = "immediate"
	NotifyDaily       NotificationFrequency = "daily"
	NotifyNever       NotificationFrequency = "never"
)

var notificationFrequencies = []NotificationFrequency{NotifyImmediately, NotifyDaily, NotifyNever}

// NotificationSettings contains the notification settings of a console user.
type NotificationSettings struct {
	UserID         uuid.UUID `gorm:"primaryKey"`
	Frequency      NotificationFrequency
	Completed      bool
	Declined       bool
	Expired        bool
	Bounced        bool
	SealingProblem bool
	Opened         bool
	Signed         bool
	Language       *string // BCP 47; nil for the workspace's language
	TimeZone       string  // IANA name
	// DigestAt is the due time of the next digest, or nil if none is scheduled.
	DigestAt *time.Time
}

// TableName returns the name of the database table.
func (NotificationSettings) TableName() string { return "console_notifications" }

// DefaultNotifications returns the default settings of a user.
func DefaultNotifications(user uuid.UUID) NotificationSettings {
	n := NotificationSettings{UserID: user, Frequency: NotifyImmediately, TimeZone: "UTC"}
	for _, k := range NotificationKinds {
		*n.Choice(k) = k.Default()
	}
	return n
}

// Choice returns a pointer to the setting for a kind, or nil for an unknown kind.
func (n *NotificationSettings) Choice(k NotificationKind) *bool {
	switch k {
	case NotifyCompleted:
		return &n.Completed
	case NotifyDeclined:
		return &n.Declined
	case NotifyExpired:
		return &n.Expired
	case NotifyBounced:
		return &n.Bounced
	case NotifySealingProblem:
		return &n.SealingProblem
	case NotifyOpened:
		return &n.Opened
	case NotifySigned:
		return &n.Signed
	}
	return nil
}

// Wants reports whether the user wants notifications of kind k at frequency f.
func (n *NotificationSettings) Wants(k NotificationKind, f NotificationFrequency) bool {
	chosen := n.Choice(k)
	return n.Frequency == f && chosen != nil && *chosen
}

// Check adds the problems with the settings to p.
func (n *NotificationSettings) Check(p Problems) {
	if !slices.Contains(notificationFrequencies, n.Frequency) {
		p.Add("frequency", "must be immediate, daily or never")
	}
	if n.Language != nil && !slices.Contains(SupportedLanguages, *n.Language) {
		p.Add("language", "must be one of %s, or null", strings.Join(SupportedLanguages, ", "))
	}
	if _, err := n.location(); err != nil {
		p.Add("timeZone", "must be an IANA time zone such as Europe/Berlin or UTC")
	}
}

func (n *NotificationSettings) location() (*time.Location, error) {
	if n.TimeZone == "" || n.TimeZone == "Local" || len(n.TimeZone) > 64 {
		return nil, fmt.Errorf("%q is not the name of a time zone", n.TimeZone)
	}
	return time.LoadLocation(n.TimeZone)
}

// Location returns the user's time zone, or UTC if the time zone is unknown on this machine.
func (n *NotificationSettings) Location() *time.Location {
	if l, err := n.location(); err == nil {
		return l
	}
	return time.UTC
}

// DigestHour is the hour at which digests are sent, in the user's time zone.
const DigestHour = 8

// NextDigest returns the due time of the first digest after now.
func (n *NotificationSettings) NextDigest(now time.Time) time.Time {
	local := now.In(n.Location())
	next := time.Date(local.Year(), local.Month(), local.Day(), DigestHour, 0, 0, 0, local.Location())
	if !next.After(now) {
		next = time.Date(local.Year(), local.Month(), local.Day()+1, DigestHour, 0, 0, 0, local.Location())
	}
	return next.UTC()
}

// DigestItem is a notification that is pending for the daily digest.
type DigestItem struct {
	EventID    uuid.UUID `gorm:"primaryKey"` // the audit event
	UserID     uuid.UUID
	EnvelopeID uuid.UUID
	Kind       NotificationKind
	SignerID   *uuid.UUID
	At         time.Time
}

// TableName returns the name of the database table.
func (DigestItem) TableName() string { return "console_digest_items" }
