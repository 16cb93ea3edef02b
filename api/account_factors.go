package api

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"net/http"
	"strings"

	"github.com/boombuler/barcode/qr"
	"github.com/gin-gonic/gin"

	"countersign/internal/totp"
	"countersign/models"
	"countersign/store"
)

// factor responds with the state of the user's second factor.
func (s *signInHandler) factor(c *gin.Context, app caller) error {
	f, err := s.store.FactorState(c.Request.Context(), app.user.ID)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, gin.H{"active": f.TOTP, "required": !app.user.AtProvider() && s.consoleTOTP.Requires(app.user.Role), "recoveryCodes": f.RecoveryCodes})
}

// enroll responds with the secret of a new second factor, as text and as a QR code.
func (s *signInHandler) enroll(c *gin.Context, app caller, o *object) error {
	if err := rejectProviderAccount(app); err != nil {
		return err
	}
	if err := s.reauthenticate(c, app, o); err != nil {
		return err
	}
	secret, err := execute(s.subject, c, func(st signInStore) (totp.Secret, error) { return st.EnrollFactor(c.Request.Context(), app.user) }, nil)
	if err != nil {
		return err
	}
	picture, err := qrSVG(secret.URI)
	if err != nil {
		return err
	}
	return respond(c, http.StatusCreated, gin.H{"secret": secret.Text, "uri": secret.URI, "qr": picture})
}

// qrSVG draws a QR code with its quiet zone. Each module is one unit wide.
func qrSVG(text string) (string, error) {
	const quiet = 4 // width in modules
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", fmt.Errorf("draw QR code: %w", err)
	}
	var path strings.Builder
	size := code.Bounds().Dx()
	for y := range size {
		for x := range size {
			if code.At(x, y) == color.Black {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[1]d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="%[2]s"/></svg>`, size+2*quiet, path.String()), nil
}

// confirmFactor verifies the first code and responds with the recovery codes.
func (s *signInHandler) confirmFactor(c *gin.Context, app caller, o *object) error {
	code := o.str("code")
	if err := o.err(); err != nil {
		return err
	}
	if err := rejectProviderAccount(app); err != nil {
		return err
	}
	recovery, err := execute(s.subject, c, func(st signInStore) ([]string, error) {
		return st.ConfirmFactor(c.Request.Context(), app.user.ID, code, app.session)
	}, nil)
	if err != nil {
		return wrongCode(err)
	}
	s.logSecurityEvent(c, "second factor confirmed", "user", app.user.ID)
	return respond(c, http.StatusOK, gin.H{"recoveryCodes": recovery})
}

// wrongCode returns an error for the member "code" if err reports a wrong code. The session itself is valid, so the
// response is not a 401.
func wrongCode(err error) error {
	if errors.Is(err, store.ErrCode) {
		return wrongCredential("code", "is wrong or was already used")
	}
	return err
}

func (s *signInHandler) renewRecovery(c *gin.Context, app caller, o *object) error {
	if err := s.changeFactor(c, app, o); err != nil {
		return err
	}
	recovery, err := execute(s.subject, c, func(st signInStore) ([]string, error) { return st.RenewRecoveryCodes(c.Request.Context(), app.user.ID) }, nil)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, gin.H{"recoveryCodes": recovery})
}

// removeFactor removes the user's second factor and ends all other sessions.
func (s *signInHandler) removeFactor(c *gin.Context, app caller, o *object) error {
	if err := s.changeFactor(c, app, o); err != nil {
		return err
	}
	if f, err := s.store.FactorState(c.Request.Context(), app.user.ID); err != nil || !f.TOTP {
		return cmp.Or(err, error(models.Reject(models.KindConflict, "second_factor_none", "The account has no authenticator app.")))
	}
	if err := s.store.RemoveFactor(c.Request.Context(), app.user.ID, app.session); err != nil {
		return err
	}
	s.logSecurityEvent(c, "second factor removed", "user", app.user.ID, "by", app.actor())
	return respondNoContent(c)
}

// changeFactor verifies that the user is authorized to change the existing second factor.
func (s *signInHandler) changeFactor(c *gin.Context, app caller, o *object) error {
	if err := s.reauthenticate(c, app, o); err != nil {
		return err
	}
	if !app.factor {
		return models.Reject(models.KindConflict, "second_factor_none", "The account has no second factor.")
	}
	return nil
}

// resetFactor removes a user's lost second factors, and ends the user's sessions. The administrator must first verify
// the identity of the person who requests the reset.
func (s *userHandler) resetFactor(c *gin.Context, app caller) error {
	user, err := s.pathUser(c, app)
	if err != nil {
		return err
	}
	if err := rejectOwnAccount(app, user.ID, "To remove your own second factor, enter your password and a code."); err != nil {
		return err
	}
	if err := s.store.ResetFactors(c.Request.Context(), user.ID, app.session); err != nil {
		return err
	}
	s.logSecurityEvent(c, "second factor removed", "user", user.ID, "by", app.actor())
	return respondNoContent(c)
}
