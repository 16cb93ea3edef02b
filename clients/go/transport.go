package countersign

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	keyHeader = "Idempotency-Key"
	// renewBefore is the time before a token's expiry at which the token is renewed.
	renewBefore  = time.Minute
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 8 * time.Second
	// maxRetryAfter is the maximum delay that the client accepts from a Retry-After header. It is longer than the
	// period of the rate limit, which is one minute.
	maxRetryAfter = 90 * time.Second
)

// transport sends the requests of the generated calls.
type transport struct {
	base, clientID, clientSecret string
	userAgent                    string
	retries                      int
	http                         *http.Client
	now                          func() time.Time

	lock    chan struct{} // contains a value while a call reads or renews the token
	token   string
	renewAt time.Time
}

// Do sends a request with a token, and retries the request if that may help. It returns a response with status 300 or
// above as an *Error.
func (t *transport) Do(req *http.Request) (*http.Response, error) {
	if t.userAgent != "" {
		req.Header.Set("User-Agent", t.userAgent)
	}
	// Without retries, an idempotency key has no purpose.
	if t.retries > 0 && req.Method == http.MethodPost && req.Header.Get(keyHeader) == "" {
		req.Header.Set(keyHeader, rand.Text())
	}
	renewed, lost := false, false // lost: the service may have processed an attempt whose response was lost or unusable
	for attempt := 0; ; attempt++ {
		token, err := t.accessToken(req.Context())
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := t.http.Do(req)
		if err == nil && res.StatusCode < http.StatusMultipleChoices {
			return res, nil
		}
		if err == nil {
			apiErr := responseError(res, t.now())
			err = apiErr
			if lost && apiErr.Status == http.StatusNotFound && req.Method == http.MethodDelete {
				// An earlier attempt, whose response was lost, deleted the object.
				return &http.Response{Status: "204 No Content", StatusCode: http.StatusNoContent, Header: res.Header, Body: http.NoBody, Request: req}, nil
			}
			if apiErr.Status == http.StatusUnauthorized && !renewed {
				renewed = true
				if dropErr := t.dropToken(req.Context(), token); dropErr != nil {
					return nil, dropErr
				}
				if rewind(req) {
					continue
				}
			}
			lost = lost || apiErr.Status >= http.StatusInternalServerError
		} else {
			lost = true
		}
		wait, again := t.backoff(req.Context(), attempt, err)
		if !again || !repeatable(req.Method, err) || !rewind(req) {
			return nil, err
		}
		if waitErr := sleep(req.Context(), wait); waitErr != nil {
			return nil, fmt.Errorf("countersign: %w, after: %w", waitErr, err)
		}
	}
}

// rewind makes the body readable again. It returns false if that is not possible.
func rewind(req *http.Request) bool {
	if req.Body == nil || req.Body == http.NoBody {
		return true
	}
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	req.Body = body
	return true
}

// repeatable reports whether a request that failed with err may be sent again. POST requests contain an idempotency
// key, and GET, PUT and DELETE are idempotent. PATCH is not: repeating it could create a second version of a template,
// or fail because the lost attempt took effect. A PATCH request is repeated only if the failed attempt had no effect.
func repeatable(method string, err error) bool {
	if method != http.MethodPatch {
		return true
	}
	var apiErr *Error
	if errors.As(err, &apiErr) {
		return apiErr.Status == http.StatusTooManyRequests || apiErr.Status == http.StatusServiceUnavailable
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" // no connection was established
}

// backoff reports whether to retry a repeatable request that failed with err, and returns the delay before the retry.
func (t *transport) backoff(ctx context.Context, attempt int, err error) (time.Duration, bool) {
	if attempt >= t.retries || ctx.Err() != nil {
		return 0, false
	}
	wait := min(firstBackoff<<attempt, maxBackoff)
	wait = wait/2 + mathrand.N(wait/2+1) //nolint:gosec // spreads clients, and is no secret
	var apiErr *Error
	if !errors.As(err, &apiErr) {
		return wait, true // no response was received
	}
	switch apiErr.Status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	case http.StatusConflict:
		if apiErr.Code != "idempotency_in_flight" { // the lost request is still in progress
			return 0, false
		}
	default:
		return 0, false
	}
	wait = max(wait, apiErr.RetryAfter)
	return wait, wait <= maxRetryAfter
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// accessToken returns a token that remains valid for some time, and requests a new one if necessary.
func (t *transport) accessToken(ctx context.Context) (string, error) {
	if err := t.takeLock(ctx); err != nil {
		return "", err
	}
	defer func() { <-t.lock }()
	if t.token != "" && t.now().Before(t.renewAt) {
		return t.token, nil
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {t.clientID}, "client_secret": {t.clientSecret}}.Encode()
	for attempt := 0; ; attempt++ {
		token, lifetime, err := t.requestToken(ctx, form)
		if err == nil {
			t.token, t.renewAt = token, t.now().Add(lifetime-min(renewBefore, lifetime/2))
			return t.token, nil
		}
		wait, again := t.backoff(ctx, attempt, err)
		if !again {
			return "", fmt.Errorf("countersign: get an access token: %w", err)
		}
		if waitErr := sleep(ctx, wait); waitErr != nil {
			return "", fmt.Errorf("countersign: get an access token: %w, after: %w", waitErr, err)
		}
	}
}

func (t *transport) requestToken(ctx context.Context, form string) (string, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+"/oauth/token", strings.NewReader(form))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if t.userAgent != "" {
		req.Header.Set("User-Agent", t.userAgent)
	}
	res, err := t.http.Do(req)
	if err != nil {
		return "", 0, err
	}
	if res.StatusCode != http.StatusOK {
		apiErr := responseError(res, t.now())
		if apiErr.Status == http.StatusNotFound {
			apiErr.Code, apiErr.Message = "unexpected_response", "no service found at "+t.base+": check the address"
		}
		return "", 0, apiErr
	}
	defer func() { _ = res.Body.Close() }() // read only
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxErrorBody)).Decode(&answer); err != nil || answer.AccessToken == "" || answer.ExpiresIn <= 0 {
		return "", 0, &Error{Status: res.StatusCode, Code: "unexpected_response", Message: req.URL.Host + " returned no access token: check the address"}
	}
	return answer.AccessToken, time.Duration(answer.ExpiresIn) * time.Second, nil
}

// dropToken discards a token that was rejected, unless it has already been replaced.
func (t *transport) dropToken(ctx context.Context, token string) error {
	if err := t.takeLock(ctx); err != nil {
		return err
	}
	defer func() { <-t.lock }()
	if t.token == token {
		t.token = ""
	}
	return nil
}

// takeLock waits until no other request is reading or renewing the token.
func (t *transport) takeLock(ctx context.Context) error {
	select {
	case t.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("countersign: get an access token: %w", ctx.Err())
	}
}
