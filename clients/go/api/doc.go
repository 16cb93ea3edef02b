// Package api contains the types and calls of the Countersign API, generated from its contract. On their own, the calls
// send no access token, and return an error response without a Go error. Package countersign adds the access token,
// retries, an idempotency key for each POST request, and an *Error for each error response.
package api
