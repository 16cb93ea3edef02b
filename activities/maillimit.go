package activities

import (
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/internal/limit"
)

const (
	// firstMailTimeout bounds the first attempt at a mail: a server that hangs soon gives its slot to another mail.
	firstMailTimeout = 10 * time.Second
	// mailTimeout bounds the later attempts. RFC 5321 section 4.5.3.2 asks clients for patience.
	mailTimeout = time.Minute
	// maxMailWait is the longest time after which an activity without a slot looks for one again.
	maxMailWait = time.Minute
)

// MailLimit limits how many activities of one app send mail at the same time in this process, so that an app whose mails hang
// leaves the other slots of the task queue to the other apps.
type MailLimit struct {
	perApp int
	slots  limit.Keyed
}

// NewMailLimit returns a limit of perApp activities. now measures how long they take.
func NewMailLimit(perApp int, now func() time.Time) *MailLimit {
	return &MailLimit{perApp: perApp, slots: limit.Keyed{MaxWait: maxMailWait, Now: now}}
}

// errTypeMailBusy is the type of the error of an activity whose app has no mail slot left.
const errTypeMailBusy = "MailBusy"

// takeMailSlot takes a mail slot of the app. It does not wait: the activity is run again when a slot should be free, and leaves
// its slot of the task queue to another app until then.
func (a *Activities) takeMailSlot(app uuid.UUID) (release func(), err error) {
	if a.MailLimit == nil {
		return func() {}, nil
	}
	release, wait := a.MailLimit.slots.TryAcquire(app.String(), a.MailLimit.perApp)
	if release != nil {
		return release, nil
	}
	return nil, sdktemporal.NewApplicationErrorWithOptions("the app has as many mails under way as it may have at the same time", errTypeMailBusy,
		sdktemporal.ApplicationErrorOptions{Category: sdktemporal.ApplicationErrorCategoryBenign, NextRetryDelay: wait})
}
