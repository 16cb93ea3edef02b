package models_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestDefaultNotifications_OutcomesOnly checks that only notifications about outcomes and required actions are enabled
// by default.
func TestDefaultNotifications_OutcomesOnly(t *testing.T) {
	t.Parallel()
	n := models.DefaultNotifications(uuid.New())
	p := models.Problems{}
	n.Check(p)
	require.Empty(t, p)
	for _, k := range models.NotificationKinds {
		on := k != models.NotifyOpened && k != models.NotifySigned
		assert.Equal(t, on, n.Wants(k, models.NotifyImmediately), k)
		assert.False(t, n.Wants(k, models.NotifyDaily), k)
	}
	assert.False(t, n.Wants("other", models.NotifyImmediately))
}

// TestNotificationSettings_RejectsInvalidValues checks that each reported problem contains the path of the invalid
// member.
func TestNotificationSettings_RejectsInvalidValues(t *testing.T) {
	t.Parallel()
	xx := "xx"
	for member, spoil := range map[string]func(*models.NotificationSettings){
		"frequency": func(n *models.NotificationSettings) { n.Frequency = "hourly" },
		"language":  func(n *models.NotificationSettings) { n.Language = &xx },
		"timeZone":  func(n *models.NotificationSettings) { n.TimeZone = "../../etc/passwd" },
	} {
		n, p := models.DefaultNotifications(uuid.New()), models.Problems{}
		spoil(&n)
		n.Check(p)
		assert.Len(t, p, 1)
		assert.Contains(t, p, member)
	}
	for _, zone := range []string{"", "Local", "Mars/Olympus"} {
		n, p := models.DefaultNotifications(uuid.New()), models.Problems{}
		n.TimeZone = zone
		n.Check(p)
		assert.Contains(t, p, "timeZone", zone)
		assert.Equal(t, time.UTC, n.Location(), zone)
	}
}

// TestNextDigest_IsAtEightLocalTime checks that the digest is due at eight in the morning in the user's time zone, even
// if daylight saving time begins during the night.
func TestNextDigest_IsAtEightLocalTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, now, next string }{
		{"UTC", "2026-11-20T07:59:59Z", "2026-11-20T08:00:00Z"},
		{"UTC", "2026-11-20T08:00:00Z", "2026-11-21T08:00:00Z"},
		{"Europe/Berlin", "2026-11-20T06:00:00Z", "2026-11-20T07:00:00Z"},
		{"Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T06:00:00Z"}, // daylight saving time begins during the night
		{"Asia/Tokyo", "2026-11-20T22:00:00Z", "2026-11-20T23:00:00Z"},
		{"Pacific/Auckland", "2026-12-31T23:00:00Z", "2027-01-01T19:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		n := models.DefaultNotifications(uuid.New())
		n.TimeZone = c.zone
		assert.Equal(t, c.next, n.NextDigest(now).Format(time.RFC3339), c)
	}
}

// TestNotificationKind_Problem checks which notifications are about a problem.
func TestNotificationKind_Problem(t *testing.T) {
	t.Parallel()
	var problems []models.NotificationKind
	for _, k := range models.NotificationKinds {
		if k.Problem() {
			problems = append(problems, k)
		}
	}
	require.Equal(t, []models.NotificationKind{models.NotifyDeclined, models.NotifyBounced, models.NotifySealingProblem}, problems)
}
