package webhook_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// resolver returns a resolver that uses its own name server. The server answers each A or AAAA query with the result of
// next, if that address belongs to the queried family. If the result is nil, the server responds that the name does not
// exist (NXDOMAIN).
func resolver(t *testing.T, next func() net.IP) *net.Resolver {
	t.Helper()
	server, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer, ok := answerTo(buf[:n], next); ok {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func answerTo(query []byte, next func() net.IP) ([]byte, bool) {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil, false
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}
	switch ip := next(); {
	case ip == nil:
		m.RCode = dnsmessage.RCodeNameError
	case ip.To4() != nil && q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte(ip.To4())}}}
	case ip.To4() == nil && q.Type == dnsmessage.TypeAAAA:
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip)}}}
	}
	answer, err := m.Pack()
	return answer, err == nil
}
