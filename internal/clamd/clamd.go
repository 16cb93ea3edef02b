// Package clamd scans files with the ClamAV daemon. It uses the INSTREAM and PING commands of the daemon's protocol
// (clamd(8)).
package clamd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"
)

const (
	chunk    = 64 << 10 // bytes
	maxReply = 4 << 10
	// timeout limits the duration of one request. It is long, because concurrent scans delay each other.
	timeout = 2 * time.Minute
)

// Scanner is a client of a daemon.
type Scanner struct{ network, address string }

// Parse parses an address of the form tcp://host:port or unix:///path.
func Parse(address string) (*Scanner, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
	case u.Scheme == "tcp" && u.Port() != "" && u.Hostname() != "" && u.Path == "":
		return &Scanner{"tcp", u.Host}, nil
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return &Scanner{"unix", u.Path}, nil
	}
	return nil, errors.New("must be tcp://host:port or unix:///path")
}

// Scan returns the name of the malware that the daemon detects in r, or an empty string if there is none. It returns
// an error if the daemon does not respond or could not read all of r.
func (s *Scanner) Scan(ctx context.Context, r io.Reader) (found string, err error) {
	reply, err := s.query(ctx, "INSTREAM", r)
	if err != nil {
		return "", err
	}
	if name, ok := strings.CutSuffix(strings.TrimPrefix(reply, "stream: "), " FOUND"); ok {
		return name, nil
	}
	if reply != "stream: OK" {
		return "", fmt.Errorf("virus scanner: unexpected response %q", reply)
	}
	return "", nil
}

// Ping returns an error unless the daemon responds.
func (s *Scanner) Ping(ctx context.Context) error {
	reply, err := s.query(ctx, "PING", nil)
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("virus scanner: unexpected response %q", reply)
	}
	return err
}

func (s *Scanner) query(ctx context.Context, command string, body io.Reader) (reply string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, s.network, s.address)
	if err != nil {
		return "", fmt.Errorf("virus scanner: %w", err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_, err = io.WriteString(conn, "z"+command+"\x00")
	if err == nil && body != nil {
		var unread error
		if unread, err = sendChunks(conn, body); unread != nil {
			return "", fmt.Errorf("virus scanner: read file: %w", unread)
		}
	}
	// A daemon that rejects further data sends the reason before it closes the connection.
	answer, readErr := io.ReadAll(io.LimitReader(conn, maxReply))
	if text := strings.TrimRight(string(answer), "\x00\n"); text != "" {
		return text, nil
	}
	return "", fmt.Errorf("virus scanner: no response: %w", errors.Join(ctx.Err(), err, readErr))
}

// sendChunks sends body in chunks, each preceded by its length, and then sends an empty chunk. The errors from reading
// body and from sending are returned separately.
func sendChunks(w io.Writer, body io.Reader) (unread, sendErr error) {
	b := make([]byte, 4+chunk)
	for {
		n, err := io.ReadFull(body, b[4:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err, nil
		}
		binary.BigEndian.PutUint32(b, uint32(n)) //nolint:gosec // at most chunk
		if _, err := w.Write(b[:4+n]); err != nil || n == 0 {
			return nil, err
		}
	}
}
