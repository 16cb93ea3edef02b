package activities

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	sdktemporal "go.temporal.io/sdk/temporal"
)

// MailLimiter limits how many activities of one app send mail at the same time in this process, so that an app whose mails
// hang leaves the other slots of the task queue to the other apps.
type MailLimiter struct {
	PerApp int

	mu     sync.Mutex
	active map[uuid.UUID]int
}

// acquire takes a slot of an app; ok is false if the app has none left.
func (l *MailLimiter) acquire(app uuid.UUID) (release func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[app] >= l.PerApp {
		return nil, false
	}
	if l.active == nil {
		l.active = make(map[uuid.UUID]int)
	}
	l.active[app]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.active[app]--; l.active[app] == 0 {
			delete(l.active, app)
		}
	}, true
}

const (
	// firstMailTimeout bounds the first attempt at a mail: a server that hangs soon gives its slot to another mail.
	firstMailTimeout = 10 * time.Second
	// mailTimeout bounds the later attempts. RFC 5321 section 4.5.3.2 asks clients for patience.
	mailTimeout = time.Minute
	// mailBusyDelay is how long an activity waits for a slot, for each attempt that found none; at most a minute.
	mailBusyDelay = 5 * time.Second
)

// errTypeMailBusy is the type of the error of an activity whose app has no mail slot left.
const errTypeMailBusy = "MailBusy"

// takeMailSlot takes a mail slot of the app. It does not wait: the activity is run again later, and leaves its slot of the
// task queue to another app until then.
func (a *Activities) takeMailSlot(ctx context.Context, app uuid.UUID) (release func(), err error) {
	if a.MailLimit == nil {
		return func() {}, nil
	}
	release, ok := a.MailLimit.acquire(app)
	if ok {
		return release, nil
	}
	attempt := time.Duration(1)
	if activity.IsActivity(ctx) {
		attempt = time.Duration(activity.GetInfo(ctx).Attempt)
	}
	return nil, sdktemporal.NewApplicationErrorWithOptions("the app has as many mails under way as it may have at the same time", errTypeMailBusy,
		sdktemporal.ApplicationErrorOptions{Category: sdktemporal.ApplicationErrorCategoryBenign, NextRetryDelay: min(attempt*mailBusyDelay, time.Minute)})
}
