package store

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"sync"
)

// Some columns are compressed before they are encrypted, because encrypted data cannot be compressed. An example is a
// webhook body, which is JSON that repeats names, IDs and addresses. Compressed data consists of a marker byte and raw
// DEFLATE data (RFC 1951). JSON never begins with the marker, so uncompressed values can be recognized.
const (
	deflated = 1
	// maxCompressed is the maximum size of content that is compressed or decompressed, in bytes.
	maxCompressed = 32 << 20
)

// deflaters is a pool of compressors, because each one allocates tables of 1 MB.
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // the level is valid
	return w
}}

// compress compresses content that will be encrypted. It returns the content unchanged if it is too long or
// compression would not shorten it.
func compress(plain []byte) []byte {
	if len(plain) > maxCompressed {
		return plain
	}
	w, ok := deflaters.Get().(*flate.Writer)
	if !ok {
		return plain
	}
	defer deflaters.Put(w)
	out := bytes.NewBuffer(make([]byte, 0, len(plain)))
	out.WriteByte(deflated)
	w.Reset(out)
	if _, err := w.Write(plain); err != nil || w.Close() != nil || out.Len() >= len(plain) {
		return plain
	}
	return out.Bytes()
}

func decompress(stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != deflated {
		return stored, nil
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(stored[1:])), maxCompressed+1))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if len(plain) > maxCompressed {
		return nil, fmt.Errorf("decompress: data is larger than %d MiB", maxCompressed>>20)
	}
	return plain, nil
}
