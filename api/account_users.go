package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

// userDetailView represents a console user in responses to administrators.
type userDetailView struct {
	userView

	SignIn       string     `json:"signIn"` // "password" or "provider"
	SecondFactor bool       `json:"secondFactor"`
	SeenAt       *time.Time `json:"seenAt"` // null if there is no session
}

func (s *userHandler) listUsers(c *gin.Context, app caller) error {
	users, err := s.store.UserDetails(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	return respondList(c, views(users, func(u *store.UserDetail) userDetailView {
		return userDetailView{viewUser(&u.ConsoleUser), signInOf(&u.ConsoleUser), u.SecondFactor && !u.AtProvider(), utcPtr(u.SeenAt)}
	}))
}

// rejectOwnAccount rejects administrative changes to the user's own account, so that administrators cannot lock
// themselves out by mistake.
func rejectOwnAccount(app caller, user uuid.UUID, message string) error {
	if app.user != nil && app.user.ID == user {
		return models.Reject(models.KindForbidden, "own_account", "%s", message)
	}
	return nil
}

// updateUser updates the name or the role of a console user.
func (s *userHandler) updateUser(c *gin.Context, app caller) error {
	user, err := s.pathUser(c, app)
	if err != nil {
		return err
	}
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	change := store.UserChange{Name: o.optStr("name")}
	if text := o.optStr("role"); text != nil {
		change.Role = new(models.Role(*text))
	}
	if err := o.err(); err != nil {
		return err
	}
	if change.Role != nil && *change.Role != user.Role {
		if err := rejectOwnAccount(app, user.ID, "Another administrator must change your role."); err != nil {
			return err
		}
	}
	changed, err := s.store.UpdateUser(c.Request.Context(), app.ID, user.ID, change)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "console user changed", "user", user.ID, "role", changed.Role, "by", app.actor())
	return respond(c, http.StatusOK, viewUser(changed))
}

// setUserPassword sets a new password for a user who forgot it, and keeps the second factor. A user of the provider
// signs in with the new password from then on.
func (s *userHandler) setUserPassword(c *gin.Context, app caller) error {
	user, err := s.pathUser(c, app)
	if err != nil {
		return err
	}
	if err := rejectOwnAccount(app, user.ID, "To change your own password, enter your current one."); err != nil {
		return err
	}
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	fresh := o.str("newPassword")
	if err := o.err(); err != nil {
		return err
	}
	err = command(s.subject, c, func(st userStore) (*models.ConsoleUser, error) {
		return user, st.SetPassword(c.Request.Context(), user, fresh, uuid.Nil)
	}, noContent)
	if err == nil {
		s.logSecurityEvent(c, "console password set", "user", user.ID, "by", app.actor())
	}
	return err
}

type userView struct {
	ID        uuid.UUID   `json:"id"`
	Email     string      `json:"email"`
	Name      string      `json:"name"`
	Role      models.Role `json:"role"`
	CreatedAt time.Time   `json:"createdAt"`
}

func viewUser(u *models.ConsoleUser) userView {
	return userView{ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, CreatedAt: u.CreatedAt.UTC()}
}

func (s *userHandler) createUser(c *gin.Context, app caller, o *object) error {
	email, name, password, role := o.str("email"), plaintext.Visible(o.str("name")), o.str("password"), o.str("role")
	if err := o.err(); err != nil {
		return err
	}
	u, err := execute(s.subject, c, func(st userStore) (*models.ConsoleUser, error) {
		return st.CreateUser(c.Request.Context(), app.ID, email, name, password, models.Role(role))
	}, asJSON(http.StatusCreated, viewUser))
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "console user created", "user", u.ID, "role", u.Role, "by", app.actor())
	return nil
}

func (s *userHandler) disableUser(c *gin.Context, app caller) error {
	id := checkedID(c, "id")
	if err := rejectOwnAccount(app, id, "Another administrator must disable your account."); err != nil {
		return err
	}
	if err := s.store.DisableUser(c.Request.Context(), app.ID, id); err != nil {
		return err
	}
	s.logSecurityEvent(c, "console user disabled", "user", id, "by", app.actor())
	return respondNoContent(c)
}
