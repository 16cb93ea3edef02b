package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/test/kit"
)

func (c *client) patch(path string, body any) *response {
	c.t.Helper()
	return c.call(http.MethodPatch, path, body)
}

func (a *response) original(i int) object { return a.body["documents"].([]any)[i].(object) }

func (a *response) eventNames() (out []string) {
	for _, ev := range a.body["auditLog"].([]any) {
		out = append(out, ev.(object)["event"].(string))
	}
	return out
}

// twoSignerRequest returns a request to create an envelope with two signers and a field for each.
func twoSignerRequest() object {
	return object{
		"tenantId": "acme",
		"signers":  []object{{"name": "Ada", "email": "ada@example.com", "authMethod": "none"}, {"name": "Bob", "email": "bob@example.com", "authMethod": "none"}},
		"fields": []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20},
			{"signerId": "1", "type": "text", "page": 1, "x": 50, "y": 90, "w": 100, "h": 20},
		},
	}
}

// TestEditDraft_MergePatch checks that a merge patch changes only the members that it contains, and that null resets a
// member to its default.
func TestEditDraft_MergePatch(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := twoSignerRequest()
		data["metadata"], data["message"], data["reminderHours"], data["subject"] = object{"deal": "7"}, "Please sign", 5, "First"
		e := c.draft(data)
		at := "/v1/envelopes/" + e.str("id")
		require.Equal(t, object{"deal": "7"}, e.body["metadata"])
		require.Equal(t, "Please sign", e.str("message"))
		before := c.get(at).want(200)

		got := c.patch(at, object{"subject": "Second", "metadata": object{"a": "b"}, "expiresInDays": nil}).want(200)
		require.Equal(t, "Second", got.str("subject"))
		require.Equal(t, object{"a": "b"}, got.body["metadata"], "metadata is replaced as a whole")
		require.Nil(t, got.body["expiresAt"], "null resets to the default: no deadline")
		require.Equal(t, "Please sign", got.str("message"), "omitted members do not change")
		require.EqualValues(t, 5, got.body["reminderHours"])
		got = c.patch(at, object{"reminderHours": nil, "message": nil, "metadata": nil, "expiresInDays": 2}).want(200)
		require.NotContains(t, got.body, "reminderHours")
		require.NotContains(t, got.body, "message")
		require.NotContains(t, got.body, "metadata")
		require.Contains(t, c.patch(at, object{"expiresAt": nil}).rejected(400, "validation_error").body["errors"], "expiresAt")

		ada, bob := got.signer(0)["id"].(string), got.signer(1)["id"].(string)
		signer := c.patch(at+"/signers/"+bob, object{"email": "robert@example.com", "routingOrder": 2}).want(200)
		require.Equal(t, "robert@example.com", signer.str("email"))
		require.Equal(t, "Bob", signer.str("name"))
		require.Contains(t, c.patch(at+"/signers/"+bob, object{"name": nil}).rejected(400, "validation_error").body["errors"], "name")
		require.Contains(t, c.patch(at+"/signers/"+bob, object{"authMethod": "sms_otp"}).rejected(400, "validation_error").body["errors"], "phone")

		field := got.field(0)["id"].(string)
		moved := c.patch(at+"/fields/"+field, object{"x": 60, "signerId": "robert@example.com"}).want(200)
		require.EqualValues(t, 60, moved.body["x"])
		require.EqualValues(t, 50, moved.body["y"])
		require.Equal(t, bob, moved.str("signerId"))
		bottom := c.patch(at+"/fields/"+field, object{"y": 0, "origin": "bottom-left"}).want(200)
		require.Greater(t, bottom.body["y"], 700.0, "y is measured from the top, as displayed")
		require.Equal(t, bottom.body["y"], c.patch(at+"/fields/"+field, object{"required": false, "documentId": got.document(0)["id"]}).want(200).body["y"])
		c.patch(at+"/fields/"+got.document(0)["id"].(string), object{"x": 60}).want(404)
		require.Contains(t, c.patch(at+"/fields/"+field, object{"x": 5000}).rejected(400, "validation_error").body["errors"], "x")

		require.Equal(t, object{"anchor": []any{"applies only to new fields: set page, x and y"}}, c.patch(at+"/fields/"+field, object{"anchor": object{"text": "Date"}}).rejected(400, "validation_error").body["errors"])

		require.Equal(t, before.eventNames(), c.get(at).want(200).eventNames(), "individual edits are not recorded")
		c.del(at + "/signers/" + ada).want(204)
		left := c.get(at).want(200)
		require.Len(t, left.body["signers"], 1)
		require.Len(t, left.body["fields"], 2, "both fields now belong to the other signer")
		c.del(at + "/fields/" + field).want(204)
		added := c.post(at+"/fields", []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 10, "y": 10, "w": 10, "h": 10},
			{"signerId": "0", "type": "date", "page": 1, "x": 30, "y": 10, "w": 10, "h": 10},
		}).want(201)
		require.Len(t, list(added), 2)
		require.Contains(t, c.post(at+"/fields", []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 10, "y": 10, "w": 10, "h": 10}, {"signerId": "9", "type": "text", "page": 1, "x": 10, "y": 10, "w": 10, "h": 10},
		}).rejected(400, "validation_error").body["errors"], "fields[1].signerId")
		c.patch(at, object{"message": "From the draft"}).want(200)

		sent := c.post(at+"/send", nil).want(200)
		require.Equal(t, "From the draft", sent.str("message"), "sending without a message keeps the draft's message")
		require.Len(t, sent.body["fields"], 3)
		events := sent.eventNames()
		require.Equal(t, []string{"draft.prepared", "envelope.sent"}, events[len(events)-2:])
		prepared := sent.body["auditLog"].([]any)[len(events)-2].(object)["detail"].(object)
		require.Equal(t, object{"documents": 1.0, "signers": 1.0, "fields": 3.0}, prepared["counts"])
		require.Equal(t, []any{models.AppActor(s.app.ID)}, prepared["editors"])
		require.Equal(t, fieldsDigest(t, sent), prepared["fieldsSha256"])

		for path, body := range map[string]object{"": {"subject": "x"}, "/signers/" + bob: {"name": "x"}, "/fields/" + sent.field(0)["id"].(string): {"x": 1}, "/documents/" + sent.original(0)["id"].(string): {"name": "x"}} {
			c.patch(at+path, body).rejected(409, "envelope_not_draft")
			c.del(at+path).rejected(409, "envelope_not_draft")
		}
		found := c.get("/v1/envelopes?tenantId=acme&signerEmail=robert@example.com").want(200)
		require.EqualValues(t, 1, found.body["total"], "an edited signer is found")
		require.EqualValues(t, 0, c.get("/v1/envelopes?tenantId=acme&q=ada").want(200).body["total"], "a removed signer is not found")
	})
}

// fieldsDigest computes the digest of an envelope's fields as specified in the documentation.
func fieldsDigest(t *testing.T, e *response) string {
	t.Helper()
	var fields []object
	for _, f := range e.body["fields"].([]any) {
		own := object{}
		for _, name := range []string{"id", "documentId", "signerId", "type", "page", "x", "y", "w", "h", "required"} {
			own[name] = f.(object)[name]
		}
		fields = append(fields, own)
	}
	b, err := json.Marshal(fields)
	require.NoError(t, err)
	b, err = jcs.Transform(b)
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// TestUneditedDraft_RecordsNoPreparation checks that a draft without edits records no preparation.
func TestUneditedDraft_RecordsNoPreparation(t *testing.T) {
	t.Parallel()
	e, _ := onSQLite(t, nil).client(t).sent(contract())
	require.NotContains(t, e.eventNames(), "draft.prepared")
	for _, name := range []string{"externalId", "metadata", "message", "reminderHours"} {
		require.NotContains(t, e.body, name, "the value was not set")
	}
}

// TestDraftDocuments_AreEdited checks that documents can be renamed, reordered and removed, and that the fields and the
// file of a removed document are deleted.
func TestDraftDocuments_AreEdited(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e := c.draft(contract())
		at := "/v1/envelopes/" + e.str("id")
		ids := []string{e.original(0)["id"].(string)}
		for range 2 {
			ids = append(ids, c.send(http.MethodPost, at+"/document", "application/octet-stream", kit.OnePage()).want(200).str("documentId"))
		}
		order := func() (out []string) {
			for _, d := range c.get(at).want(200).body["documents"].([]any) {
				out = append(out, d.(object)["id"].(string))
			}
			return out
		}
		moved := c.patch(at+"/documents/"+ids[2], object{"document_order": 1, "name": "Annex.pdf"}).want(200)
		require.EqualValues(t, 1, moved.body["document_order"])
		require.Equal(t, "Annex.pdf", moved.str("name"))
		require.Equal(t, []string{ids[2], ids[0], ids[1]}, order())
		c.patch(at+"/documents/"+ids[2], object{"document_order": 3}).want(200)
		require.Equal(t, ids, order())
		for _, n := range []int{0, 4} {
			require.Contains(t, c.patch(at+"/documents/"+ids[0], object{"document_order": n}).rejected(400, "validation_error").body["errors"], "document_order")
		}
		c.del(at + "/documents/" + ids[0]).want(204)
		left := c.get(at).want(200)
		require.Equal(t, ids[1:], order())
		require.Empty(t, left.body["fields"], "the field was deleted with its document")
		require.EqualValues(t, 1, left.original(0)["document_order"])
		f := c.post(at+"/fields", object{"signerId": "0", "type": "text", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9}).want(201)
		require.Equal(t, ids[1], f.str("documentId"), "another document is now the first")
		c.del(at + "/documents/" + ids[1]).want(204)
		c.del(at + "/documents/" + ids[2]).want(204)
		require.Nil(t, c.get(at).want(200).body["documentHashOriginal"])
		c.del(at+"/documents/"+ids[2]).rejected(404, "not_found")
		again := c.send(http.MethodPost, at+"/document", "application/octet-stream", kit.OnePage()).want(200).str("documentId")
		require.Equal(t, again, c.post(at+"/fields", object{"signerId": "0", "type": "text", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9}).want(201).str("documentId"))
		files, err := s.cfg.Blobs.List(t.Context(), "envelopes/"+e.str("id")+"/")
		require.NoError(t, err)
		require.Len(t, files, 1, "the files of removed documents are deleted")
		c.post(at+"/send", nil).want(200)
	})
}

// TestDeleteDraft_RemovesContents checks that a deleted draft is not found, and that its contents are deleted from the
// database.
func TestDeleteDraft_RemovesContents(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := contract()
		data["externalId"], data["subject"] = "order-1", "Secret plan"
		e := c.draft(data)
		keep := c.draft(contract())
		at := "/v1/envelopes/" + e.str("id")
		c.del(at).want(204)
		for _, suffix := range []string{"", "/document", "/documents.zip"} {
			c.get(at+suffix).rejected(404, "not_found")
		}
		c.del(at).rejected(404, "not_found")
		c.patch(at, object{"subject": "x"}).rejected(404, "not_found")
		c.post(at+"/send", nil).rejected(404, "not_found")
		for _, q := range []string{"", "&status=draft", "&q=secret", "&sort=updatedAt", "&externalId=order-1"} {
			got := c.get("/v1/envelopes?tenantId=acme" + q).want(200)
			for _, x := range got.body["data"].([]any) {
				require.Equal(t, keep.str("id"), x.(object)["id"], q)
			}
			require.LessOrEqual(t, got.body["total"], 1.0, q)
		}
		require.Len(t, c.get("/v1/console/envelopes").want(200).body["data"], 1)
		kept, log, err := s.store.AnyEnvelopeWithEvents(t.Context(), s.app.ID, uuid.MustParse(e.str("id")))
		require.NoError(t, err)
		require.NoError(t, models.VerifyChain(log, kept.AuditSeq, kept.AuditHead), "the audit chain is retained")
		require.Nil(t, kept.Subject)
		require.Empty(t, kept.Signers)
		data["externalId"] = "order-1"
		c.draft(data) // the external ID is available again
		sent, _ := c.sent(contract())
		c.del("/v1/envelopes/"+sent.str("id")).rejected(409, "envelope_not_draft")
	})
}

// TestIfMatch checks that an edit of a stale version is rejected, and that only one of two concurrent edits succeeds.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e := c.draft(contract())
		at := "/v1/envelopes/" + e.str("id")
		tag := c.get(at).want(200).header.Get("ETag")
		require.Equal(t, e.header.Get("ETag"), tag)
		next := c.with("If-Match", tag).patch(at, object{"subject": "One"}).want(200).header.Get("ETag")
		require.NotEqual(t, tag, next)
		signer, field, doc := "/signers/"+e.signer(0)["id"].(string), "/fields/"+e.field(0)["id"].(string), "/documents/"+e.original(0)["id"].(string)
		stale := c.with("If-Match", tag)
		stale.patch(at, object{"subject": "Two"}).rejected(412, "precondition_failed")
		for path, body := range map[string]object{signer: {"name": "x"}, field: {"x": 1}, doc: {"name": "x"}} {
			stale.patch(at+path, body).rejected(412, "precondition_failed")
			stale.del(at+path).rejected(412, "precondition_failed")
		}
		stale.post(at+"/signers", object{"name": "B", "email": "b@example.com"}).rejected(412, "precondition_failed")
		stale.post(at+"/fields", object{"signerId": "0", "type": "text", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9}).rejected(412, "precondition_failed")
		stale.post(at+"/void", nil).rejected(412, "precondition_failed")
		kind, body := multipartBody(t, nil, kit.OnePage())
		console := "/v1/console" + strings.TrimPrefix(at, "/v1") + "/documents"
		stale.send(http.MethodPost, at+"/document", "application/pdf", kit.OnePage()).rejected(412, "precondition_failed")
		stale.send(http.MethodPost, console, kind, body).rejected(412, "precondition_failed")
		stale.post(at+doc+"/prepare", nil).rejected(412, "precondition_failed")
		rejected := stale.post(at+"/send", nil).rejected(412, "precondition_failed")
		require.Equal(t, next, rejected.body["details"].(object)["etag"])
		stale.del(at).rejected(412, "precondition_failed")
		require.Equal(t, "One", c.get(at).want(200).str("subject"))
		c.with("If-Match", `"x", `+next).patch(at, object{"subject": "Three"}).want(200)
		c.with("If-Match", "*").patch(at+doc, object{"name": "x"}).want(200)
		for _, upload := range []func(*client) *response{
			func(c *client) *response {
				return c.send(http.MethodPost, at+"/document", "application/pdf", kit.OnePage()).want(200)
			},
			func(c *client) *response { return c.send(http.MethodPost, console, kind, body).want(201) },
			func(c *client) *response { return c.post(at+doc+"/prepare", nil).want(200) },
		} {
			was := c.get(at).want(200).header.Get("ETag")
			answered := upload(c.with("If-Match", was)).header.Get("ETag")
			require.NotEqual(t, was, answered)
			require.Equal(t, c.get(at).want(200).header.Get("ETag"), answered)
		}

		tag = c.get(at).want(200).header.Get("ETag")
		won := make([]int, 8)
		var wg sync.WaitGroup
		for i := range won {
			wg.Go(func() {
				won[i] = c.with("If-Match", tag).patch(at, object{"subject": fmt.Sprint("Edit ", i)}).status
			})
		}
		wg.Wait()
		winner := slices.Index(won, 200)
		require.GreaterOrEqual(t, winner, 0)
		for i, status := range won {
			require.Equal(t, map[bool]int{true: 200, false: 412}[i == winner], status, "%v", won)
		}
		require.Equal(t, fmt.Sprint("Edit ", winner), c.get(at).want(200).str("subject"))
	})
}

// TestEditWhileSending checks that an edit is either included in the sent envelope or rejected.
func TestEditWhileSending(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		for range 8 {
			at := "/v1/envelopes/" + c.draft(contract()).str("id")
			var edited, sent *response
			var wg sync.WaitGroup
			wg.Go(func() { edited = c.patch(at, object{"subject": "Edited"}) })
			wg.Go(func() { sent = c.post(at+"/send", nil) })
			wg.Wait()
			sent.want(200)
			now := c.get(at).want(200)
			require.Equal(t, sent.str("subject"), now.str("subject"), "nothing changes after sending")
			if edited.status == 200 {
				require.Equal(t, "Edited", now.str("subject"))
				require.Contains(t, now.eventNames(), "draft.prepared")
			} else {
				edited.rejected(409, "envelope_not_draft")
				require.Equal(t, "Contract", now.str("subject"))
			}
		}
	})
}

func with(o object, name string, v any) object {
	out := clone(o)
	out[name] = v
	return out
}
