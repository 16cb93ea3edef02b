package pdf

import (
	"bufio"
	"compress/lzw"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	tifflzw "golang.org/x/image/tiff/lzw" // uses EarlyChange, the default in PDF
)

// StreamLength returns the length of a stream's bytes in the file.
func (f *File) StreamLength(o Object) (int64, error) {
	d, err := o.Value.Dict()
	if err != nil {
		return 0, damaged("stream %d has no dictionary", o.Ref.Num)
	}
	n, err := f.Int(d.Get("Length"))
	if err != nil || n < 0 || n > f.size-o.Data {
		return 0, damaged("stream %d has an incorrect Length, at byte %d", o.Ref.Num, o.Data)
	}
	return n, nil
}

// StreamRaw returns a reader for a stream's encoded bytes in the file.
func (f *File) StreamRaw(o Object) (*io.SectionReader, error) {
	n, err := f.StreamLength(o)
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(f.in.r, o.Data, n), nil
}

// ErrFilter reports that a stream has a filter that this package does not support.
var ErrFilter = errors.New("pdf: filter is not supported")

// StreamData returns a stream's decoded bytes. It fails if their number exceeds Limits.MaxStream.
func (f *File) StreamData(o Object) ([]byte, error) {
	most := f.lim.MaxStream
	r, err := f.streamReader(o)
	if err != nil {
		return nil, err
	}
	// Read one byte beyond the limit, to distinguish a stream that is too large from one that just fits.
	likely := min(f.likelySize(o, r), most+1)
	b, err := appendAll(make([]byte, 0, likely+1), io.LimitReader(r, most+1)) // the last read returns the end of the data
	f.decoded += int64(len(b))
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%w: stream %d is too large", ErrLimit, o.Ref.Num)
	}
	if f.decoded > f.maxDecoded() {
		return nil, fmt.Errorf("%w: the streams are too large in total", ErrLimit)
	}
	if err != nil {
		return nil, damaged("stream %d, at byte %d: %w", o.Ref.Num, o.Data, err)
	}
	return b, nil
}

// likelySize estimates the decoded size of a stream.
func (f *File) likelySize(o Object, r io.Reader) int64 {
	n, err := f.StreamLength(o)
	if err != nil {
		return 0
	}
	if _, raw := r.(*io.SectionReader); raw {
		return n
	}
	const ratio, most = 4, 1 << 20
	return min(ratio*n, most)
}

// appendAll is like io.ReadAll, but appends to b.
func appendAll(b []byte, r io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return b, err
		}
	}
}

// maxDecoded returns the maximum total size of all decoded streams, in bytes.
func (f *File) maxDecoded() int64 { return 32 * f.lim.MaxStream }

// streamReader returns a reader for the decoded data of a stream.
func (f *File) streamReader(o Object) (io.Reader, error) {
	raw, err := f.StreamRaw(o)
	if err != nil {
		return nil, err
	}
	filters, params, err := f.filters(o)
	if err != nil {
		return nil, err
	}
	var r io.Reader = raw
	for i, name := range filters {
		if r, err = decoder(r, name, params[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (f *File) filters(o Object) (names []string, params []Dict, err error) {
	d, err := o.Value.Dict()
	if err != nil {
		return nil, nil, err
	}
	lookup := &Lookup{File: f}
	filter, parms := lookup.Value(d.Get("Filter")), lookup.Value(d.Get("DecodeParms"))
	if lookup.Err != nil {
		return nil, nil, lookup.Err
	}
	if filter.IsNull() {
		return nil, nil, nil
	}
	list, plist := []Value{filter}, []Value{parms}
	if filter.IsArray() {
		if list, err = filter.Array(); err != nil {
			return nil, nil, damaged("invalid Filter")
		}
		plist = nil
		if parms.IsArray() {
			if plist, err = parms.Array(); err != nil {
				return nil, nil, damaged("invalid DecodeParms")
			}
		}
	}
	if len(list) > 8 {
		return nil, nil, fmt.Errorf("%w: too many filters", ErrLimit)
	}
	for i, v := range list {
		v, err = f.Resolve(v)
		if err != nil {
			return nil, nil, err
		}
		name, ok := v.Name()
		if !ok {
			return nil, nil, damaged("invalid Filter")
		}
		var p Dict
		if i < len(plist) {
			if p, err = f.decodeParms(plist[i]); err != nil {
				return nil, nil, err
			}
		}
		names, params = append(names, name), append(params, p)
	}
	return names, params, nil
}

// decodeParms reads the parameters of a filter. It rejects real numbers, because some programs interpret 12.0 as 12 and
// others ignore it, and would therefore decode different data.
func (f *File) decodeParms(v Value) (Dict, error) {
	d, err := OptionalDict(f, v)
	if err != nil {
		return nil, err
	}
	for i := range d {
		switch d[i].Key {
		case "EarlyChange", "Predictor", "Colors", "BitsPerComponent", "Columns":
			if d[i].Value, err = f.Resolve(d[i].Value); err != nil {
				return nil, err
			}
			if _, ok := d[i].Value.Int(); !ok && !d[i].Value.IsNull() {
				return nil, damaged("%s in DecodeParms is not an integer", d[i].Key)
			}
		}
	}
	return d, nil
}

func decoder(r io.Reader, name string, params Dict) (io.Reader, error) {
	switch name {
	case "FlateDecode", "Fl":
		z, err := zlib.NewReader(r)
		if err != nil {
			return nil, damaged("flate: %v", err)
		}
		return predictor(&lenientReader{r: z}, params)
	case "LZWDecode", "LZW":
		if early, ok := params.Get("EarlyChange").Int(); ok && early == 0 {
			return predictor(lzw.NewReader(r, lzw.MSB, 8), params)
		}
		return predictor(tifflzw.NewReader(r, tifflzw.MSB, 8), params)
	case "RunLengthDecode", "RL":
		return &runLength{r: bufio.NewReader(r)}, nil
	case "ASCIIHexDecode", "AHx":
		return hex.NewDecoder(&eodReader{r: r, eod: '>'}), nil
	case "ASCII85Decode", "A85":
		return ascii85.NewDecoder(&eodReader{r: r, eod: '~'}), nil
	}
	return nil, fmt.Errorf("%w: %s", ErrFilter, name)
}

// lenientReader accepts a stream with a missing or wrong checksum, as other programs do, provided that some data was
// decoded.
type lenientReader struct {
	r io.Reader
	n int
}

func (l *lenientReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.n += n
	if l.n > 0 && (errors.Is(err, zlib.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF)) {
		err = io.EOF
	}
	return n, err
}

// runLength decodes run-length encoded data (7.4.5).
type runLength struct {
	r    *bufio.Reader
	left int  // remaining bytes in the run
	same bool // whether the run repeats one byte
	byte byte
}

func (l *runLength) Read(p []byte) (int, error) {
	for n := range p {
		if l.left == 0 {
			c, err := l.r.ReadByte()
			if err != nil || c == 128 {
				return n, io.EOF
			}
			l.same, l.left = c > 128, int(c)+1
			if l.same {
				l.left = 257 - int(c)
				if l.byte, err = l.r.ReadByte(); err != nil {
					return n, io.EOF
				}
			}
		}
		p[n] = l.byte
		if !l.same {
			c, err := l.r.ReadByte()
			if err != nil {
				return n, io.EOF
			}
			p[n] = c
		}
		l.left--
	}
	return len(p), nil
}

// eodReader returns the bytes up to an end-of-data marker, without white space.
type eodReader struct {
	r    io.Reader
	eod  byte
	done bool
}

func (u *eodReader) Read(p []byte) (int, error) {
	for !u.done {
		n, err := u.r.Read(p)
		k := 0
		for _, c := range p[:n] {
			if c == u.eod {
				u.done = true
				break
			}
			if !IsSpace(c) {
				p[k] = c
				k++
			}
		}
		if err != nil {
			u.done = true
			return k, err
		}
		if k > 0 {
			return k, nil
		}
	}
	return 0, io.EOF
}

// predictor reverses the PNG predictors (7.4.4.4), which cross-reference streams use.
func predictor(r io.Reader, params Dict) (io.Reader, error) {
	n, _ := params.Get("Predictor").Int()
	if n < 2 {
		return r, nil
	}
	if n == 2 {
		return nil, fmt.Errorf("%w: TIFF predictor", ErrFilter)
	}
	get := func(key string, def, limit int64) int64 {
		v, ok := params.Get(key).Int()
		if !ok || v < 1 || v > limit {
			return def
		}
		return v
	}
	bpp := get("Colors", 1, 32) * get("BitsPerComponent", 8, 16)
	row := (bpp*get("Columns", 1, 1<<20) + 7) / 8
	return &pngPredictor{r: r, bpp: int(max(bpp/8, 1)), cur: make([]byte, row+1), prev: make([]byte, row+1)}, nil
}

type pngPredictor struct {
	r         io.Reader
	bpp       int
	cur, prev []byte // current and previous row, each preceded by its filter type
	rest      []byte
}

func (p *pngPredictor) Read(out []byte) (int, error) {
	if len(p.rest) == 0 {
		p.cur, p.prev = p.prev, p.cur
		if _, err := io.ReadFull(p.r, p.cur); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return 0, err
		}
		p.undo(p.cur[0], p.cur[1:], p.prev[1:])
		p.rest = p.cur[1:]
	}
	n := copy(out, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *pngPredictor) undo(filter byte, cur, prev []byte) {
	for i := range cur {
		var left, upLeft byte
		if i >= p.bpp {
			left, upLeft = cur[i-p.bpp], prev[i-p.bpp]
		}
		switch filter {
		case 1:
			cur[i] += left
		case 2:
			cur[i] += prev[i]
		case 3:
			cur[i] += byte((int(left) + int(prev[i])) / 2) //nolint:gosec // the mean of two bytes is one
		case 4:
			cur[i] += paeth(left, prev[i], upLeft)
		}
	}
}

func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	abs := func(n int) int { return max(n, -n) }
	pa, pb, pc := abs(p-int(a)), abs(p-int(b)), abs(p-int(c))
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}

// StreamHead returns up to the first n decoded bytes of a stream. It returns fewer if the data is damaged there.
func (f *File) StreamHead(o Object, n int) ([]byte, error) {
	r, err := f.streamReader(o)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	n, _ = io.ReadFull(r, b)
	f.decoded += int64(n)
	return b[:n], nil
}
