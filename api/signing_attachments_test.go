package api_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/operate/sweep"
	"countersign/test/kit"
)

// attaching returns a request to create an envelope with two signers, one after the other. The first signer has two
// attachment fields, one of them optional.
func attaching() object {
	field := func(signer, kind string, y int, required bool) object {
		return object{"signerId": signer, "type": kind, "page": 1, "x": 50, "y": y, "w": 100, "h": 20, "required": required}
	}
	return object{
		"tenantId": "acme", "subject": "With files",
		"signers": []object{
			{"name": "Ada Byron", "email": "ada@example.com", "authMethod": "none", "routingOrder": 1},
			{"name": "Bob", "email": "bob@example.com", "authMethod": "none", "routingOrder": 2},
		},
		"fields": []object{field("0", "attachment", 50, true), field("0", "attachment", 100, false), field("1", "text", 150, true), field("0", "text", 200, false)},
	}
}

func (c *client) attach(token string, field any, name string, file []byte) *response {
	c.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if field != nil {
		require.NoError(c.t, w.WriteField("fieldId", fmt.Sprint(field)))
	}
	if file != nil {
		p, err := w.CreateFormFile("file", name)
		require.NoError(c.t, err)
		_, err = p.Write(file)
		require.NoError(c.t, err)
	}
	require.NoError(c.t, w.Close())
	return c.send(http.MethodPost, "/v1/signing/"+token+"/attachments", w.FormDataContentType(), b.Bytes())
}

// linkOf returns the token in a signer's link.
func (s *service) linkOf(t *testing.T, envelope string, signer int) string {
	t.Helper()
	e, err := s.store.Envelope(t.Context(), s.app.ID, uuid.MustParse(envelope))
	require.NoError(t, err)
	token, err := s.cfg.Tokens.IssueSigning(s.app.ID, e.Signers[signer])
	require.NoError(t, err)
	return token
}

// noise returns an image that cannot be compressed.
func noise(t *testing.T, side int) image.Image {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
	}
	return img
}

// noiseOfTwoChannels returns a PNG with random gray and opacity values (PNG, section 11.2.1). Go's encoder does not
// support this color type.
func noiseOfTwoChannels(t *testing.T, side int) []byte {
	t.Helper()
	var pixels, out bytes.Buffer
	z, err := zlib.NewWriterLevel(&pixels, zlib.NoCompression)
	require.NoError(t, err)
	r, line := rand.NewChaCha8([32]byte{}), make([]byte, 1+2*side) // each line begins with its filter type, which is 0 (none)
	for range side {
		_, _ = r.Read(line[1:])
		_, err := z.Write(line)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	out.WriteString("\x89PNG\r\n\x1a\n")
	chunk := func(name string, data []byte) {
		body := append([]byte(name), data...)
		out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
		out.Write(binary.BigEndian.AppendUint32(body, crc32.ChecksumIEEE(body)))
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(side)), uint32(side))
	chunk("IHDR", append(header, 8, 4, 0, 0, 0)) // 8 bits each for gray and opacity
	chunk("IDAT", pixels.Bytes())
	chunk("IEND", nil)
	return out.Bytes()
}

func inPNG(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// photo returns a JPEG of 40 by 20 pixels whose left half is red. Its EXIF data contains the given orientation and a
// location.
func photo(t *testing.T, orientation byte) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 40, 20))
	for y := range 20 {
		for x := range 40 {
			c := color.NRGBA{0, 0, 255, 255}
			if x < 20 {
				c = color.NRGBA{255, 0, 0, 255}
			}
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, nil))
	exif := []byte("Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00GPS 48.2N 16.4E")
	exif[6+8+2+8+1] = orientation
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+2))
	return append(append(append(b.Bytes()[:2:2], segment...), exif...), b.Bytes()[2:]...)
}

// TestAttachments checks which operations on attachments are available to the signer who adds them, to a later signer,
// and to the owner.
func TestAttachments(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, token := c.sent(attaching())
		at := "/v1/signing/" + token
		required, optional := e.field(0)["id"], e.field(1)["id"]
		c.get(at).want(200)
		c.attach(token, required, "passport.pdf", kit.OnePage()).rejected(401, "consent_required")
		c.post(at+"/consent", nil).want(200)

		pdf := c.attach(token, required, "my passport.PDF", kit.OnePage()).want(201)
		require.Equal(t, "my passport.pdf", pdf.str("name"))
		require.Equal(t, "application/pdf", pdf.str("mimeType"))
		pic := c.attach(token, optional, `C:\photos\card.png`, photo(t, 6)).want(201)
		require.Equal(t, "card.jpg", pic.str("name"), "the type is detected from the content")
		own := c.get(at).want(200).body["attachments"].([]any)
		require.Len(t, own, 2)
		require.Equal(t, pdf.str("attachmentId"), own[0].(object)["attachmentId"])

		got := c.get(at + "/attachments/" + pic.str("attachmentId")).want(200)
		require.NotContains(t, string(got.raw), "GPS", "invisible data is removed")
		turned, err := jpeg.Decode(bytes.NewReader(got.raw))
		require.NoError(t, err)
		require.Equal(t, image.Pt(20, 40), turned.Bounds().Size(), "turned upright")
		r, _, b, _ := turned.At(10, 5).RGBA()
		require.Greater(t, r, b, "the image is upright, with red at the top")
		require.Contains(t, got.header.Get("Content-Disposition"), "attachment; filename=card.jpg")
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))

		owner := "/v1/envelopes/" + e.str("id") + "/attachments/"
		c.get(owner+pdf.str("attachmentId")).rejected(404, "not_found")
		sign := func(fields ...object) *response { return c.post(at+"/sign", object{"fields": fields}) }
		sign(object{"fieldId": optional, "attachmentId": pic.str("attachmentId")}).rejected(400, "validation_error")
		sign(object{"fieldId": required, "attachmentId": pic.str("attachmentId")}).rejected(400, "validation_error")
		sign(object{"fieldId": required, "attachmentId": newID().String()}).rejected(400, "validation_error")
		sign(object{"fieldId": required, "attachmentId": pdf.str("attachmentId"), "textValue": "x"}).rejected(400, "validation_error")
		sign(object{"fieldId": required, "attachmentId": pdf.str("attachmentId")}, object{"fieldId": e.field(3)["id"], "attachmentId": pic.str("attachmentId")}).rejected(400, "validation_error")
		sign(object{"fieldId": required, "attachmentId": pdf.str("attachmentId")}).want(200)
		c.attach(token, optional, "late.pdf", kit.OnePage()).rejected(409, "already_signed")

		require.Equal(t, kit.OnePage(), c.get(owner+pdf.str("attachmentId")).want(200).raw)
		c.get(owner+pic.str("attachmentId")).rejected(404, "not_found")
		s.other(t).get(owner+pdf.str("attachmentId")).rejected(404, "not_found")

		later := s.linkOf(t, e.str("id"), 1)
		filled := c.get("/v1/signing/" + later).want(200).body["filled"].([]any)
		require.Len(t, filled, 1)
		entry := filled[0].(object)
		require.Equal(t, "my passport.pdf", entry["value"])
		require.Equal(t, pdf.str("attachmentId"), entry["attachment"].(object)["attachmentId"])
		require.Nil(t, entry["picture"])
		require.Equal(t, kit.OnePage(), c.get("/v1/signing/"+later+"/attachments/"+pdf.str("attachmentId")).want(200).raw)
		c.get("/v1/signing/"+later+"/attachments/"+pic.str("attachmentId")).rejected(404, "not_found")
		c.del("/v1/signing/"+later+"/attachments/"+pdf.str("attachmentId")).rejected(401, "consent_required")
		c.post("/v1/signing/"+later+"/consent", nil).want(200)
		c.del("/v1/signing/"+later+"/attachments/"+pdf.str("attachmentId")).rejected(404, "not_found")

		c.del(at+"/attachments/"+pic.str("attachmentId")).rejected(409, "already_signed")

		// A missing file is logged for the operator. A purged file is permanently unavailable.
		other, waiting := c.sent(attaching())
		c.get("/v1/signing/" + waiting).want(200)
		c.post("/v1/signing/"+waiting+"/consent", nil).want(200)
		lost := c.attach(waiting, other.field(0)["id"], "a.pdf", kit.OnePage()).want(201).str("attachmentId")
		c.post("/v1/signing/"+waiting+"/sign", object{"fields": []object{{"fieldId": other.field(0)["id"], "attachmentId": lost}}}).want(200)
		require.NoError(t, s.cfg.Blobs.Delete(t.Context(), "envelopes/"+other.str("id")+"/attachments/"+lost))
		c.get("/v1/envelopes/"+other.str("id")+"/attachments/"+lost).rejected(503, "file_missing")
		c.get("/v1/signing/"+s.linkOf(t, other.str("id"), 1)+"/attachments/"+lost).rejected(503, "file_missing")
		require.NoError(t, s.store.PurgeAttachments(t.Context(), uuid.MustParse(other.str("id")), s.clock.now()))
		c.get("/v1/envelopes/"+other.str("id")+"/attachments/"+lost).rejected(410, "document_purged")

		// Attachments that are not part of a signature are deleted after a day, together with their files. All others remain.
		kept, err := s.cfg.Blobs.List(t.Context(), "envelopes/"+e.str("id")+"/attachments/")
		require.NoError(t, err)
		require.Len(t, kept, 2)
		removed, err := sweep.Unused(t.Context(), s.store, s.cfg.Blobs, s.clock.now().Add(23*time.Hour))
		require.NoError(t, err)
		require.Zero(t, removed)
		kept, err = s.cfg.Blobs.List(t.Context(), "envelopes/"+e.str("id")+"/attachments/")
		require.NoError(t, err)
		require.Len(t, kept, 2)
		removed, err = sweep.Unused(t.Context(), s.store, s.cfg.Blobs, s.clock.now().Add(25*time.Hour))
		require.NoError(t, err)
		require.Equal(t, 1, removed)
		kept, err = s.cfg.Blobs.List(t.Context(), "envelopes/"+e.str("id")+"/attachments/")
		require.NoError(t, err)
		require.Equal(t, []string{"envelopes/" + e.str("id") + "/attachments/" + pdf.str("attachmentId")}, kept)
	})
}

// TestAttachments_AreBounded checks the limits on the number, size, type and content of attachments, and that rejected
// files are not stored.
func TestAttachments_AreBounded(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(attaching())
	at := "/v1/signing/" + token
	field, other := e.field(0)["id"], e.field(1)["id"]
	c.get(at).want(200)
	c.post(at+"/consent", nil).want(200)
	_, plain := c.sent(contract())
	c.get("/v1/signing/" + plain).want(200)
	c.post("/v1/signing/"+plain+"/consent", nil).want(200)
	c.attach(plain, field, "a.pdf", kit.OnePage()).rejected(400, "validation_error")

	c.attach(token, nil, "a.pdf", kit.OnePage()).rejected(400, "validation_error")
	c.attach(token, field, "", nil).rejected(400, "validation_error")
	c.attach(token, field, "a.pdf", []byte{}).rejected(400, "validation_error")
	c.attach(token, e.field(3)["id"], "a.pdf", kit.OnePage()).rejected(400, "validation_error")
	c.attach(token, e.field(2)["id"], "a.pdf", kit.OnePage()).rejected(400, "validation_error")
	c.attach(token, field, "a.pdf", []byte("<html>no</html>")).rejected(400, "attachment_type")
	c.attach(token, field, "a.gif", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")).rejected(400, "attachment_type")
	c.attach(token, field, "a.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)).rejected(400, "attachment_type")
	c.attach(token, field, "a.jpg", photo(t, 1)[:60]).rejected(400, "picture_invalid")
	huge := inPNG(t, noise(t, 8))
	binary.BigEndian.PutUint32(huge[16:], 60_000)
	c.attach(token, field, "a.png", huge).want(400)
	c.attach(token, field, "a.pdf", append(kit.OnePage(), make([]byte, 10<<20)...)).rejected(413, "file_too_large")
	c.attach(token, field, "a.pdf", kit.OnePage()[:200]).want(400)
	grows := noiseOfTwoChannels(t, 1700)
	require.Less(t, len(grows), 6<<20)
	require.Contains(t, c.attach(token, field, "a.png", grows).rejected(413, "file_too_large").str("message"), "re-encoded", "four channels require twice the bytes")
	kept, err := s.cfg.Blobs.List(t.Context(), "envelopes/"+e.str("id")+"/attachments/")
	require.NoError(t, err)
	require.Empty(t, kept)

	var first string
	for i := range 3 {
		a := c.attach(token, field, fmt.Sprint(i, ".pdf"), kit.OnePage()).want(201)
		if i == 0 {
			first = a.str("attachmentId")
		}
	}
	c.attach(token, field, "4.pdf", kit.OnePage()).rejected(400, "too_many_attachments")
	c.del(at + "/attachments/" + first).want(204)
	c.del(at+"/attachments/"+first).rejected(404, "not_found")
	c.attach(token, field, "4.pdf", kit.OnePage()).want(201)

	big := inPNG(t, noise(t, 1500)) // 9 MB
	require.Greater(t, len(big), 8<<20)
	c.attach(token, other, "big.png", big).want(201)
	c.attach(token, other, "big.png", big).want(201)
	c.attach(token, other, "big.png", big).rejected(413, "attachments_too_large")

	s.clock.advance(40 * 24 * time.Hour)
	c.attach(token, field, "a.pdf", kit.OnePage()).rejected(401, "signing_link_expired")
}

// TestRemoveAttachment_WhileSigning checks that if a signer signs while an attachment is being removed, only one of the
// two operations succeeds.
func TestRemoveAttachment_WhileSigning(t *testing.T) {
	t.Parallel()
	s := start(t, kit.MigratedURL(t, "postgres"), nil)
	c := s.client(t)
	prepared := func() (at, id string, field any, blobs func() []string) {
		e, token := c.sent(attaching())
		at, field = "/v1/signing/"+token, e.field(0)["id"]
		c.get(at).want(200)
		c.post(at+"/consent", nil).want(200)
		id = c.attach(token, field, "passport.pdf", kit.OnePage()).want(201).str("attachmentId")
		return at, id, field, func() []string {
			kept, err := s.cfg.Blobs.List(t.Context(), "envelopes/"+e.str("id")+"/attachments/")
			require.NoError(t, err)
			return kept
		}
	}
	at, id, _, blobs := prepared()
	s.whileLocked(t, "UPDATE attachments SET used = true WHERE id = $1", id, "DELETE%attachments%", func() {
		c.del(at+"/attachments/"+id).rejected(404, "not_found")
	})
	require.Len(t, blobs(), 1, "the file was used in a signature")

	at, id, field, _ := prepared()
	s.whileLocked(t, "DELETE FROM attachments WHERE id = $1", id, "%FROM attachments%UPDATE%", func() {
		rejected := c.post(at+"/sign", object{"fields": []object{{"fieldId": field, "attachmentId": id}}}).rejected(400, "validation_error")
		require.Contains(t, rejected.body["errors"], "fields[0].attachmentId")
	})
	again := object{"fieldId": field, "attachmentId": c.attach(strings.TrimPrefix(at, "/v1/signing/"), field, "passport.pdf", kit.OnePage()).want(201).str("attachmentId")}
	c.post(at+"/sign", object{"fields": []object{again}}).want(200)
}

// whileLocked changes a row in a transaction, and commits the transaction as soon as one of the request's SQL
// statements blocks on the row's lock. whileLocked requires PostgreSQL.
func (s *service) whileLocked(t *testing.T, change, id, waiting string, request func()) {
	t.Helper()
	ctx := t.Context()
	db, err := sql.Open("pgx", s.url)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	_, err = tx.ExecContext(ctx, change, id)
	require.NoError(t, err)
	var done sync.WaitGroup
	done.Go(request)
	require.Eventually(t, func() bool {
		var waits bool
		err := db.QueryRowContext(context.WithoutCancel(ctx),
			"SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1)", waiting).Scan(&waits)
		return err == nil && waits
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, tx.Commit())
	done.Wait()
}

// TestAttachments_AreScanned checks that an attachment is rejected if it contains known malware or the scanner does not
// respond.
func TestAttachments_AreScanned(t *testing.T) {
	t.Parallel()
	scanner := &failingScanner{}
	s := onSQLite(t, func(cfg *api.Config) { cfg.Scanner = scanner })
	c := s.client(t)
	e, token := c.sent(attaching())
	c.get("/v1/signing/" + token).want(200)
	c.post("/v1/signing/"+token+"/consent", nil).want(200)
	files := [][]byte{kit.OnePage(), photo(t, 1), inPNG(t, noise(t, 8))}
	for _, file := range files {
		scanner.set("Eicar", nil)
		c.attach(token, e.field(0)["id"], "a", file).rejected(400, "file_malware")
		scanner.set("", errors.New("down"))
		c.attach(token, e.field(0)["id"], "a", file).rejected(503, "scanner_unavailable")
	}
	scanner.set("", nil)
	for _, file := range files {
		c.attach(token, e.field(0)["id"], "a", file).want(201)
	}
}

// failingScanner is a scanner that returns a preset result.
type failingScanner struct {
	mu    sync.Mutex
	found string
	err   error
}

func (s *failingScanner) set(found string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found, s.err = found, err
}

func (s *failingScanner) Scan(context.Context, io.Reader) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found, s.err
}
