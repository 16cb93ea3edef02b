package api

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"countersign/models"
)

// ProblemConn is a connection that rewrites the responses that net/http sends before it calls a handler (400, 408, 431,
// 501 and 505). The rewritten responses have the same error body and headers as every other response.
type ProblemConn struct {
	*net.TCPConn

	// RateLimit is the limit in the headers of these responses, in requests per minute. Zero omits the headers. Requests
	// that receive these responses are not counted.
	RateLimit int
	Now       func() time.Time
}

// serverResponse matches a complete response that net/http sends in one write without calling a handler.
var serverResponse = regexp.MustCompile(`(?s)\AHTTP/1\.1 ([45][0-9][0-9]) [^\r\n]*\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n[^\r\n]*\z`)

// maxServerResponse is the maximum size of a response that net/http sends without a handler, in bytes.
const maxServerResponse = 512

// Write implements net.Conn.
func (c ProblemConn) Write(b []byte) (int, error) {
	if len(b) > maxServerResponse {
		return c.TCPConn.Write(b)
	}
	m := serverResponse.FindSubmatch(b)
	if m == nil {
		return c.TCPConn.Write(b)
	}
	status, _ := strconv.Atoi(string(m[1])) // three digits
	if _, err := c.TCPConn.Write(c.problem(status)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// connectionProblems maps status codes to the errors of requests that reach no handler.
var connectionProblems = map[int]*models.Error{
	http.StatusBadRequest:                  {Code: "bad_request", Message: "The request is not valid HTTP."},
	http.StatusRequestTimeout:              {Code: "request_timeout", Message: "The request did not arrive in time."},
	http.StatusRequestHeaderFieldsTooLarge: {Code: "headers_too_large", Message: "The request line and the headers are larger than 16 KiB."},
	http.StatusNotImplemented:              {Code: "unsupported_transfer_encoding", Message: "The transfer encoding of the request is not supported."},
	http.StatusHTTPVersionNotSupported:     {Code: "unsupported_version", Message: "The HTTP version of the request is not supported."},
	http.StatusExpectationFailed:           {Code: "expectation_failed", Message: "The expectation of the request is not supported."},
}

func (c ProblemConn) problem(status int) []byte {
	e := connectionProblems[status]
	if e == nil {
		e = connectionProblems[http.StatusBadRequest]
	}
	body, _ := json.Marshal(problemOf("", status, e)) // strings and numbers can always be encoded
	limits := ""
	if c.RateLimit > 0 {
		limits = fmt.Sprintf("X-RateLimit-Limit: %d\r\nX-RateLimit-Remaining: %d\r\nX-RateLimit-Reset: %d\r\n", c.RateLimit, c.RateLimit, windowEnd(c.Now()).Unix())
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\n"+
		"Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: %s\r\nX-Frame-Options: DENY\r\n%sConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(body), noContentPolicy, limits, body)
}
