package api

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

type notificationView struct {
	Email     string                           `json:"email"`
	Frequency models.NotificationFrequency     `json:"frequency"`
	Events    map[models.NotificationKind]bool `json:"events"`
	Language  *string                          `json:"language"`
	TimeZone  string                           `json:"timeZone"`
}

func viewNotifications(u *models.ConsoleUser, n *models.NotificationSettings) notificationView {
	events := make(map[models.NotificationKind]bool)
	for _, k := range models.NotificationKinds {
		events[k] = *n.Choice(k)
	}
	return notificationView{u.Email, n.Frequency, events, n.Language, n.TimeZone}
}

func (s *notificationHandler) getNotifications(c *gin.Context, app caller) error {
	n, err := s.store.Notifications(c.Request.Context(), app.user.ID)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, viewNotifications(app.user, &n))
}

// putNotifications updates the settings present in the body.
func (s *notificationHandler) putNotifications(c *gin.Context, app caller) error {
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	n, err := s.store.ChangeNotifications(c.Request.Context(), app.user.ID, func(n *models.NotificationSettings) error {
		n.Frequency = models.NotificationFrequency(optionalText(o, "frequency", string(n.Frequency)))
		n.TimeZone = optionalText(o, "timeZone", n.TimeZone)
		if o.has("language") {
			n.Language = o.optStr("language")
		}
		if events := o.sub("events"); events != nil {
			for _, k := range models.NotificationKinds {
				chosen := n.Choice(k)
				*chosen = events.flag(string(k), *chosen)
			}
		}
		n.Check(o.p)
		return o.err()
	})
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, viewNotifications(app.user, &n))
}

// optionalText returns an optional string, or the given default if the member is absent.
func optionalText(o *object, name, fallback string) string {
	if !o.has(name) {
		return fallback
	}
	return o.text(name)
}

// unsubscribePage serves the page that the unsubscribe link of a notification opens. It changes nothing, because email
// clients may open links automatically.
func (s *notificationHandler) unsubscribePage(c *gin.Context) error {
	if s.pages == nil {
		return models.ErrNotFound
	}
	s.pages.ServeHTTP(c.Writer, c.Request)
	return nil
}

// unsubscribe disables all notifications for the console user whose token is in the link (RFC 8058). Only the token
// matters. The body is read up to the size limit, and ignored.
func (s *notificationHandler) unsubscribe(c *gin.Context) error {
	if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
		return bodyError(err)
	}
	invalid := models.Reject(models.KindUnauthorized, "unsubscribe_link_invalid", "This link is not valid or has expired. Sign in to the console to change your notifications.")
	app, user, err := s.tokens.VerifyUnsubscribe(c.Param("token"))
	if err != nil {
		return invalid
	}
	ctx := c.Request.Context()
	if _, err := s.store.UserOfApp(ctx, app, user); err != nil {
		return notFoundAs(invalid, err)
	}
	_, err = s.store.ChangeNotifications(ctx, user, func(n *models.NotificationSettings) error {
		n.Frequency = models.NotifyNever
		return nil
	})
	if err != nil {
		return notFoundAs(invalid, err)
	}
	return respondNoContent(c)
}
