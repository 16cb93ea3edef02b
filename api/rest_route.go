package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// credentialKind is the credential that a route requires.
type credentialKind int

const (
	public      credentialKind = iota // none
	bearer                            // an app's access token
	console                           // an app's access token, or a console user's of sufficient role
	consoleUser                       // only a console user's token
	signing                           // a signer token in the path
)

// replayPolicy says what a POST with the Idempotency-Key of an earlier one gets, once
// that has taken effect.
type replayPolicy int

const (
	replayResponse replayPolicy = iota // the same answer, for 24 hours
	replayBriefly                      // the same, for half an access token's life
	neverReplay                        // it is done again: the answer is a secret that is shown once, or nothing was changed
)

func (r replayPolicy) lifetime() time.Duration {
	switch r {
	case replayBriefly:
		return tokenResponseLifetime
	case neverReplay:
		return 0
	case replayResponse:
	}
	return responseLifetime
}

// bodyLimit is how large the body of a request may be, in bytes.
type bodyLimit struct {
	all  int64 // 0: by the route's credential
	file int64 // of the file in it; 0: it has none
}

// The bounds of a body by the credential of its route, in bytes.
const (
	maxPublicBody = 8 << 10  // credentials and answers of authenticators
	maxPersonBody = 64 << 10 // of a signer, or of a console user about the own account
)

// maxBody returns how large the body of a request may be, in bytes.
func (r route) maxBody() int64 {
	if r.body.all > 0 {
		return r.body.all
	}
	switch r.access {
	case public:
		return maxPublicBody
	case signing, consoleUser:
		return maxPersonBody
	case bearer, console:
	}
	return maxJSON
}

// route is one row of the table that lists every endpoint.
type route struct {
	method, path     string
	access           credentialKind
	role             models.Role           // console, consoleUser: the least that a user needs
	allowWithoutMFA  bool                  // console: also while the user's second factor is missing
	allowExpiredLink bool                  // signing: also for a link that has expired
	builder          models.BuilderFeature // bearer, console: the feature that lets a builder session make the call
	replay           replayPolicy
	body             bodyLimit
	before           func(*gin.Context) error // public: comes before a body is read
	public           func(*gin.Context) error
	app              func(*gin.Context, caller) error
	signer           func(*gin.Context, signerLink) error
}

// What the tables of routes are written with.
const (
	get, post, put, patch, del     = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	viewer, support, sender, admin = models.RoleViewer, models.RoleSupport, models.RoleSender, models.RoleAdmin
)

func forAnyone(method, path string, h func(*gin.Context) error) route {
	return route{method: method, path: path, access: public, public: h}
}

// forApp is for the app itself.
func forApp(method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: bearer, app: h}
}

// forConsole is for the app itself, and for its console users of a role.
func forConsole(role models.Role, method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: console, role: role, app: h}
}

// forUser is a route for console users with at least the role and a required second factor.
func forUser(role models.Role, method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: consoleUser, role: role, app: h}
}

// forOwn is a route for a console user's own account.
func forOwn(method, path string, h func(*gin.Context, caller) error) route {
	return withoutFactor(forUser(viewer, method, path, h))
}

// forSigner is a route for the holder of a signing link.
func forSigner(method, path string, h func(*gin.Context, signerLink) error) route {
	return route{method: method, path: path, access: signing, signer: h}
}

// withBodyOf sets the size limit of the body.
func withBodyOf(limit int64, r route) route {
	r.body.all = limit
	return r
}

// withFile sets the size limit of a file in the body.
func withFile(limit int64, r route) route {
	r.body = bodyLimit{limit + besideFile, limit}
	return r
}

// beforeBody is called before the body is read.
func beforeBody(before func(*gin.Context) error, r route) route {
	r.before = before
	return r
}

func neverReplayed(r route) route {
	r.replay = neverReplay
	return r
}

func replayedBriefly(r route) route {
	r.replay = replayBriefly
	return r
}

// withoutFactor allows a call also while the user's second factor is missing.
func withoutFactor(r route) route {
	r.allowWithoutMFA = true
	return r
}

// afterExpiry also takes a link that has expired.
func afterExpiry(r route) route {
	r.allowExpiredLink = true
	return r
}

// builderMay also takes a builder session that has the feature.
func builderMay(f models.BuilderFeature, r route) route {
	r.builder = f
	return r
}
