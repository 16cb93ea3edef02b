package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// credentialKind is the kind of credential that a route requires.
type credentialKind int

const (
	public      credentialKind = iota // no credential
	bearer                            // an app's access token
	console                           // an app's access token, or the token of a console user with a sufficient role
	consoleUser                       // only a console user's token
	signing                           // a signer token in the path
)

// replayPolicy determines the response to a POST whose Idempotency-Key was used by an earlier POST that took effect.
type replayPolicy int

const (
	replayResponse replayPolicy = iota // the same response, for 24 hours
	replayBriefly                      // the same response, for half the lifetime of an access token
	replayNever                        // none: the request runs again, because its response contains a one-time secret or because it changes nothing
)

func (r replayPolicy) lifetime() time.Duration {
	switch r {
	case replayBriefly:
		return tokenResponseLifetime
	case replayNever:
		return 0
	case replayResponse:
	}
	return responseLifetime
}

// bodyLimit is the maximum size of a request's body, in bytes.
type bodyLimit struct {
	all  int64 // 0 selects the default for the route's credential
	file int64 // size of the file in the body; 0 if there is no file
}

// The default maximum sizes of a body, in bytes, by the credential of the route.
const (
	maxPublicBody = 8 << 10  // sufficient for credentials and authenticator responses
	maxPersonBody = 64 << 10 // for signers, and for console users who change their own accounts
)

// maxBody returns the maximum size of a request body, in bytes.
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

// route is one row in the table of all endpoints.
type route struct {
	method, path     string
	access           credentialKind
	role             models.Role           // console and consoleUser: the minimum role
	allowWithoutMFA  bool                  // console and consoleUser: allow users who have not yet enrolled a required second factor
	allowExpiredLink bool                  // signing: also accept an expired link
	builder          models.BuilderFeature // bearer and console: the feature that permits a builder session to make the call
	replay           replayPolicy
	body             bodyLimit
	before           func(*gin.Context) error // public: runs before the body is read
	public           func(*gin.Context) error
	app              func(*gin.Context, caller) error
	signer           func(*gin.Context, signerLink) error
}

// Short names for use in the tables of routes.
const (
	get, post, put, patch, del     = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	viewer, support, sender, admin = models.RoleViewer, models.RoleSupport, models.RoleSender, models.RoleAdmin
)

func forPublic(method, path string, h func(*gin.Context) error) route {
	return route{method: method, path: path, access: public, public: h}
}

// forApp returns a route that only the app itself can use.
func forApp(method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: bearer, app: h}
}

// forAppOrRole returns a route for the app itself and for console users with at least the given role.
func forAppOrRole(role models.Role, method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: console, role: role, app: h}
}

// forRole returns a route only for console users with at least the given role. Users without a required second factor
// are rejected.
func forRole(role models.Role, method, path string, h func(*gin.Context, caller) error) route {
	return route{method: method, path: path, access: consoleUser, role: role, app: h}
}

// forOwnAccount returns a route for operations on a console user's own account.
func forOwnAccount(method, path string, h func(*gin.Context, caller) error) route {
	return withoutFactor(forRole(viewer, method, path, h))
}

// forSigner returns a route that requires a signer token in the path.
func forSigner(method, path string, h func(*gin.Context, signerLink) error) route {
	return route{method: method, path: path, access: signing, signer: h}
}

// withBodyLimit sets the maximum size of the body.
func withBodyLimit(limit int64, r route) route {
	r.body.all = limit
	return r
}

// withFile sets the maximum size of a file in the body.
func withFile(limit int64, r route) route {
	r.body = bodyLimit{limit + multipartOverhead, limit}
	return r
}

// beforeBody adds a function that runs before the body is read.
func beforeBody(before func(*gin.Context) error, r route) route {
	r.before = before
	return r
}

func withoutReplay(r route) route {
	r.replay = replayNever
	return r
}

func withBriefReplay(r route) route {
	r.replay = replayBriefly
	return r
}

// withoutFactor makes the route also permit users who have not yet enrolled a required second factor.
func withoutFactor(r route) route {
	r.allowWithoutMFA = true
	return r
}

// afterExpiry makes the route also accept an expired signing link.
func afterExpiry(r route) route {
	r.allowExpiredLink = true
	return r
}

// withBuilderFeature makes the route also accept a builder session that has the feature.
func withBuilderFeature(f models.BuilderFeature, r route) route {
	r.builder = f
	return r
}
