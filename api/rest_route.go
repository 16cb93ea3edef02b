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
	public      credentialKind = iota // no credential
	bearer                            // an app's access token
	console                           // an app's access token, or the token of a console user with a sufficient role
	consoleUser                       // only a console user's token
	signing                           // a signer token in the path
)

// replayPolicy determines the response to a POST with the Idempotency-Key of an earlier POST that took effect.
type replayPolicy int

const (
	replayResponse replayPolicy = iota // the same response, for 24 hours
	replayBriefly                      // the same response, for half an access token's life
	neverReplay                        // run again: the response contains a secret that is returned once, or the request changes nothing
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

// bodyLimit is the maximum size of a request's body, in bytes.
type bodyLimit struct {
	all  int64 // 0: the default of the route's credential
	file int64 // size of the file in the body; 0: no file
}

// The maximum size of a body by the credential of its route, in bytes.
const (
	maxPublicBody = 8 << 10  // credentials and responses of authenticators
	maxPersonBody = 64 << 10 // from a signer, or from a console user about the user's own account
)

// maxBody returns the maximum size of a request's body, in bytes.
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
	role             models.Role           // console, consoleUser: the minimum role
	allowWithoutMFA  bool                  // console: also while the user's second factor is missing
	allowExpiredLink bool                  // signing: also for a link that has expired
	builder          models.BuilderFeature // bearer, console: the feature with which a builder session may make the call
	replay           replayPolicy
	body             bodyLimit
	before           func(*gin.Context) error // public: called before the body is read
	public           func(*gin.Context) error
	app              func(*gin.Context, caller) error
	signer           func(*gin.Context, signerLink) error
}

// The constructors of rows in the tables of routes.
const (
	get, post, put, patch, del     = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	viewer, support, sender, admin = models.RoleViewer, models.RoleSupport, models.RoleSender, models.RoleAdmin
)

func forAnyone(method, path string, h func(*gin.Context) error) route {
	return route{method: method, path: path, access: public, public: h}
}

// forApp returns a route for the app itself.
func forApp(method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: bearer, app: h}
}

// forConsole returns a route for the app itself, and for console users with at least the role.
func forConsole(role models.Role, method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: console, role: role, app: h}
}

// forUser returns a route for console users with at least the role and, if required, a second factor.
func forUser(role models.Role, method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: consoleUser, role: role, app: h}
}

// forOwn returns a route for a console user's own account.
func forOwn(method, path string, h func(*gin.Context, caller) error) route {
	return withoutFactor(forUser(viewer, method, path, h))
}

// forSigner returns a route for the holder of a signing link.
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

// beforeBody adds a function that runs before the body is read.
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

// afterExpiry also accepts an expired link.
func afterExpiry(r route) route {
	r.allowExpiredLink = true
	return r
}

// builderMay also accepts a builder session with the feature.
func builderMay(f models.BuilderFeature, r route) route {
	r.builder = f
	return r
}
