package kit

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Eicar is the harmless test file that every virus scanner reports.
const Eicar = `X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*`

// Clamd starts a substitute for the ClamAV daemon and returns its address. It supports INSTREAM and PING, reports
// malware in streams that contain one of the known strings, and rejects streams longer than limit bytes.
func Clamd(tb testing.TB, limit int, known ...string) string {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer func() { _ = c.Close() }()
				_, _ = io.WriteString(c, clamdAnswer(bufio.NewReader(c), limit, known)+"\x00")
			})
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	return "tcp://" + l.Addr().String()
}

func clamdAnswer(r *bufio.Reader, limit int, known []string) string {
	command, err := r.ReadString(0)
	switch {
	case err != nil:
		return "UNKNOWN COMMAND"
	case command == "zPING\x00":
		return "PONG"
	case command != "zINSTREAM\x00":
		return "UNKNOWN COMMAND"
	}
	var all bytes.Buffer
	for {
		var n uint32
		if err := binary.Read(r, binary.BigEndian, &n); err != nil {
			return "INSTREAM: broken. ERROR"
		}
		if n == 0 {
			break
		}
		if all.Len()+int(n) > limit {
			// Allow the client to read the response before the connection is closed.
			_, _ = io.Copy(io.Discard, io.LimitReader(r, int64(n)))
			return "INSTREAM size limit exceeded. ERROR"
		}
		if _, err := io.CopyN(&all, r, int64(n)); err != nil {
			return "INSTREAM: broken. ERROR"
		}
	}
	for _, k := range known {
		if bytes.Contains(all.Bytes(), []byte(k)) {
			return "stream: Win.Test.EICAR_HDB-1 FOUND"
		}
	}
	return "stream: OK"
}
