package activities

import (
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/internal/limit"
)

const (
	// firstMailTimeout limits the first attempt to send an email, so that an email to a hanging server does not occupy
	// its slot for long.
	firstMailTimeout = 10 * time.Second
	// mailTimeout limits later attempts. RFC 5321 section 4.5.3.2 recommends long timeouts for clients.
	mailTimeout = time.Minute
	// maxMailWait is the maximum delay before an activity without a slot is retried.
	maxMailWait = time.Minute
)

// MailLimit limits the number of activities of one app that send email at the same time in this process. An app with
// hanging emails therefore does not delay other apps.
type MailLimit struct {
	perApp      int
	concurrency limit.Keyed
}

// NewMailLimit returns a MailLimit that permits perApp concurrent activities for each app. It uses the given clock to
// measure how long activities take.
func NewMailLimit(perApp int, now func() time.Time) *MailLimit {
	return &MailLimit{perApp: perApp, concurrency: limit.Keyed{MaxWait: maxMailWait, Now: now}}
}

// errTypeMailBusy is the error type of an activity whose app has no free mail slot.
const errTypeMailBusy = "MailBusy"

// acquireMailLimit acquires a mail slot for the app. If no slot is free, it returns an error instead of waiting. The
// activity's slot in the task queue then becomes available to other apps, and the activity is retried when a mail slot
// is expected to be free.
func (a *Activities) acquireMailLimit(app uuid.UUID) (release func(), err error) {
	if a.MailLimit == nil {
		return func() {}, nil
	}
	release, wait := a.MailLimit.concurrency.TryAcquire(app.String(), a.MailLimit.perApp)
	if release != nil {
		return release, nil
	}
	return nil, sdktemporal.NewApplicationErrorWithOptions("the app has reached its limit of concurrent emails", errTypeMailBusy,
		sdktemporal.ApplicationErrorOptions{Category: sdktemporal.ApplicationErrorCategoryBenign, NextRetryDelay: wait})
}
