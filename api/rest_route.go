package api

import (
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// credentialKind says which credential a route asks for.
type credentialKind int

const (
	public      credentialKind = iota // none
	bearer                            // an app's access token
	console                           // an app's access token, or a console user's of sufficient role
	consoleUser                       // a console user's alone
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
