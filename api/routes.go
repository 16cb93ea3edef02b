package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// access says which credential a route asks for.
type access int

const (
	public  access = iota // none
	bearer                // an app's access token
	signing               // a signer token in the path
)

// route is one row of the table that lists every endpoint.
type route struct {
	method, path string
	access       access
	public       func(*gin.Context) error
	app          func(*gin.Context, *models.App) error
	signer       func(*gin.Context, signerLink) error
}

func (s *Server) routes() []route {
	pub := func(method, path string, h func(*gin.Context) error) route {
		return route{method: method, path: path, access: public, public: h}
	}
	app := func(method, path string, h func(*gin.Context, *models.App) error) route {
		return route{method: method, path: path, access: bearer, app: h}
	}
	sig := func(method, path string, h func(*gin.Context, signerLink) error) route {
		return route{method: method, path: "/v1/signing/:token" + path, access: signing, signer: h}
	}
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	return []route{
		pub(get, "/healthz", s.healthz),
		pub(get, "/readyz", s.readyz),
		pub(get, "/.well-known/jwks.json", s.jwks),
		pub(post, "/oauth/token", s.token),

		app(post, "/v1/envelopes", s.createEnvelope),
		app(get, "/v1/envelopes", s.listEnvelopes),
		app(get, "/v1/envelopes/:id", s.getEnvelope),
		app(post, "/v1/envelopes/:id/send", s.sendEnvelope),
		app(post, "/v1/envelopes/:id/void", s.voidEnvelope),
		app(post, "/v1/envelopes/:id/signers", s.addSigner),
		app(post, "/v1/envelopes/:id/fields", s.addField),
		app(post, "/v1/envelopes/:id/document", s.uploadDocument),
		app(get, "/v1/envelopes/:id/document", s.getDocument),
		app(post, "/v1/console/envelopes/:id/documents", s.uploadConsoleDocument),
		app(get, "/v1/console/envelopes/:id/progress", s.progress),

		app(get, "/v1/webhooks", s.listWebhooks),
		app(post, "/v1/webhooks", s.createWebhook),
		app(del, "/v1/webhooks/:id", s.deleteWebhook),

		sig(get, "", s.signingContext),
		sig(post, "/otp/request", s.requestCode),
		sig(post, "/otp/verify", s.verifyCode),
		sig(post, "/consent", s.consent),
		sig(post, "/sign", s.sign),
		sig(post, "/decline", s.decline),
		sig(get, "/document", s.signingDocument),
		sig(get, "/documents", s.signingDocuments),
		sig(get, "/documents/:docId", s.signingDocumentByID),
		sig(post, "/page-view", s.pageView),

		pub(get, "/v1/download/:token", s.download),
		pub(get, "/v1/download/:token/document", s.downloadDocument),
	}
}

// isAPI reports whether a path belongs to the API, so that an unknown one is
// answered in the API's words.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/oauth/") || strings.HasPrefix(path, "/.well-known/")
}

// handle checks the credential that the route asks for and turns an error into an answer.
func (s *Server) handle(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		var err error
		switch r.access {
		case public:
			err = r.public(c)
		case bearer:
			var app *models.App
			if app, err = s.authenticate(c); err == nil {
				err = r.app(c, app)
			}
		case signing:
			var l signerLink
			if l, err = s.authenticateSigner(c); err == nil {
				err = r.signer(c, l)
			}
		}
		if err != nil {
			s.fail(c, err)
		}
	}
}
