package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

// bulkTemplate creates a template with the roles "tenant" and "landlord", a field "flat" of the tenant, and the
// variable "street" in its subject. It returns the template's ID.
func bulkTemplate(t *testing.T, s *service, c *client, tenant string) string {
	t.Helper()
	draft := c.draft(object{
		"tenantId": "acme",
		"signers": []object{
			{"name": "T", "email": "t@example.com", "authMethod": "none", "role": "tenant"}, {"name": "L", "email": "l@example.com", "authMethod": "none", "role": "landlord"},
		},
		"fields": []object{
			{"role": "tenant", "type": "number", "name": "flat", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20},
			{"role": "landlord", "type": "text", "name": "note", "page": 1, "x": 50, "y": 90, "w": 100, "h": 20, "required": false},
		},
	})
	subject := "Lease of {{street}}"
	act := s.act("app:" + s.app.ID.String())
	made, err := s.store.PutTemplate(t.Context(), store.TemplateTarget{App: s.app.ID, Tenant: tenant, Envelope: uuid.MustParse(draft.str("id"))},
		func(_ *models.LoadedTemplate, from *models.Envelope) (*models.LoadedTemplate, error) {
			out := models.NewTemplate(act, models.Template{AppID: s.app.ID, TenantID: tenant, Name: "Lease", CreatedBy: "me"})
			content := models.TemplateContent{Subject: &subject, Roles: []models.TemplateRole{
				{Role: "tenant", RoutingOrder: 1, AuthMethod: models.AuthNone}, {Role: "landlord", RoutingOrder: 2, AuthMethod: models.AuthEmailOTP, Kind: models.RecipientApprover},
			}}
			content.FieldsOf(from)
			out.NewVersion(act, "me", content, models.TemplateDocuments(from))
			return out, nil
		})
	require.NoError(t, err)
	return made.ID.String()
}

func bulkRow(id, name string) object {
	return object{
		"externalId": id, "values": object{"flat": "7"}, "variables": object{"street": "High Street"},
		"signers": []object{
			{"role": "tenant", "name": name, "email": strings.ToLower(name) + "@example.com"}, {"role": "landlord", "name": "Lena", "email": "lena@example.com"},
		},
	}
}

func bulkRequest(template string, rows ...object) object {
	return object{"templateId": template, "tenantId": "acme", "rows": rows, "name": "Leases of May"}
}

// faultsOf returns the faults listed in an error response, in the form "row column: message".
func faultsOf(a *response) (out []string) {
	var body struct {
		Details struct {
			Faults []struct {
				Row             int
				Column, Message string
			}
		}
	}
	require.NoError(a.t, json.Unmarshal(a.raw, &body))
	for _, f := range body.Details.Faults {
		out = append(out, fmt.Sprintf("%d %s: %s", f.Row, f.Column, f.Message))
	}
	return out
}

// TestBulkSend_Lifecycle checks the actions on a bulk send and its counts, from creation to cancellation.
func TestBulkSend_Lifecycle(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		template := bulkTemplate(t, s, c, "acme")
		in := bulkRequest(template, bulkRow("a", "Ada"), bulkRow("b", "Bob"), bulkRow("=c", "Cyd"))
		in["perMinute"] = 60
		once := c.with("Idempotency-Key", "k1")
		made := once.post("/v1/bulk-sends", in).want(http.StatusAccepted)
		assert.Equal(t, []any{"queued", 3.0}, []any{made.body["status"], made.body["total"]})
		assert.Equal(t, string(made.raw), string(once.post("/v1/bulk-sends", in).want(http.StatusAccepted).raw))
		at := "/v1/bulk-sends/" + made.str("id")
		assert.Equal(t, "https://sign.example.com"+at, made.header.Get("Location"))
		counts := func(pending, sent, failed, canceled int) object {
			return object{"pending": float64(pending), "sent": float64(sent), "failed": float64(failed), "cancelled": float64(canceled)}
		}
		got := c.get(at).want(http.StatusOK)
		assert.Equal(t, counts(3, 0, 0, 0), got.body["counts"])
		assert.Equal(t, []any{"Leases of May", 60.0, template, 1.0, nil}, []any{got.body["name"], got.body["perMinute"], got.body["templateId"], got.body["templateVersion"], got.body["completedAt"]})
		for _, step := range [][2]string{{"pause", "paused"}, {"pause", "paused"}, {"resume", "running"}, {"cancel", "cancelled"}} {
			assert.Equal(t, step[1], c.post(at+"/"+step[0], nil).want(http.StatusOK).str("status"))
		}
		assert.Equal(t, counts(0, 0, 0, 3), c.get(at).body["counts"])
		c.post(at+"/resume", nil).rejected(http.StatusConflict, "bulk_send_cancelled")
		c.post(at+"/retry", nil).rejected(http.StatusConflict, "bulk_send_cancelled")

		rows := c.get(at + "/rows?status=cancelled&pageSize=2").want(http.StatusOK)
		assert.Len(t, rowsOf(rows), 2)
		rows = c.get(at + "/rows?status=cancelled&pageSize=2&cursor=" + rows.str("nextCursor")).want(http.StatusOK)
		assert.Nil(t, rows.body["nextCursor"])
		row := rows.body["data"].([]any)[0].(object)
		assert.Equal(t, []any{3.0, "=c", "cancelled", nil, nil}, []any{row["row"], row["externalId"], row["status"], row["envelopeId"], row["error"]})
		assert.Empty(t, rowsOf(c.get(at+"/rows?status=sent").want(http.StatusOK)))
		table := c.with("Accept", "text/csv").get(at + "/rows").want(http.StatusOK)
		assert.Contains(t, table.header.Get("Content-Type"), "text/csv")
		lines := strings.Split(string(table.raw), "\r\n")
		assert.Equal(t, "row,externalId,status,envelopeId,errorCode,error,settledAt", lines[0])
		assert.True(t, strings.HasPrefix(lines[3], "3,'=c,cancelled,,,,20"), lines[3])
		c.get(at+"/rows?status=odd").rejected(http.StatusBadRequest, "validation_error")
		c.get("/v1/envelopes?tenantId=acme&bulkSendId=" + made.str("id")).want(http.StatusOK)
		c.get("/v1/envelopes?tenantId=acme&bulkSendId=x").rejected(http.StatusBadRequest, "validation_error")

		notFound := func(c *client) {
			c.get(at).rejected(http.StatusNotFound, "not_found")
			c.get(at+"/rows").rejected(http.StatusNotFound, "not_found")
			c.post(at+"/pause", nil).rejected(http.StatusNotFound, "not_found")
		}
		notFound(s.other(t))
		s.limit(t, "umbrella")
		s.clock.advance(time.Minute) // makes the cached app expire
		notFound(s.client(t))
		s.client(t).post("/v1/bulk-sends", in).rejected(http.StatusForbidden, "tenant_forbidden")
	})
}

// TestBulkSend_RejectsInvalidRows checks that the response reports the faults of all rows by row and column, and that
// nothing is stored.
func TestBulkSend_RejectsInvalidRows(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		template := bulkTemplate(t, s, c, "acme")
		taken := contract()
		taken["externalId"] = "taken"
		c.draft(taken)
		without := func(row object, name string) object {
			out := maps.Clone(row)
			delete(out, name)
			return out
		}
		with := func(row object, name string, value any) object {
			out := maps.Clone(row)
			out[name] = value
			return out
		}
		good := bulkRow("good", "Ada")
		got := c.post("/v1/bulk-sends", bulkRequest(template,
			good,
			with(good, "externalId", "good"),
			without(with(good, "externalId", "3"), "variables"),
			with(with(good, "externalId", "4"), "values", object{"flat": "seven", "roof": "x"}),
			with(with(good, "externalId", "5"), "signers", []object{{"role": "tenant", "name": "Ada", "email": "ada"}, {"role": "cook", "name": "C", "email": "c@example.com"}}),
			with(good, "externalId", "taken"),
			with(with(good, "externalId", "7"), "signers", 7),
			with(with(good, "externalId", "8"), "signers", []object{good["signers"].([]object)[0], good["signers"].([]object)[0], good["signers"].([]object)[1]}),
			with(with(good, "externalId", "9"), "value", object{"flat": "7"}),
			with(with(good, "externalId", "10"), strings.Repeat("x\u202e", 100), 1),
		)).rejected(http.StatusBadRequest, "validation_error")
		faults := strings.Join(faultsOf(got), "\n")
		for _, want := range []string{
			"2 externalId: also occurs in row 1", "3 variables.street: is required", "4 values.flat: ", "4 values.roof: is not a field of the template",
			"5 signers[0].email: ", "5 signers[1].role: is not a role of the template", "5 signers: has no signer for the role landlord",
			"6 externalId: is already used by another envelope", "7 signers: must be an array", "8 signers[1].role: occurs twice (tenant)",
			"9 value: is not a member of a row; the members are externalId, signers, values, variables", "10 " + strings.Repeat("x", 60) + ": is not a member",
		} {
			assert.Contains(t, faults, want)
		}
		assert.NotContains(t, faults, "\n1 ")
		assert.EqualValues(t, 10, got.body["details"].(object)["total"])

		unlike := bulkRequest(template)
		unlike["rows"] = []any{good, "a text", nil}
		got = c.post("/v1/bulk-sends", unlike).rejected(http.StatusBadRequest, "validation_error")
		assert.Subset(t, faultsOf(got), []string{"2 : must be an object", "3 : must be an object"})

		many := bulkRequest(template)
		rows := make([]object, 150)
		for i := range rows {
			rows[i] = without(bulkRow(fmt.Sprint(i), "Ada"), "variables")
		}
		many["rows"] = rows
		got = c.post("/v1/bulk-sends", many).rejected(http.StatusBadRequest, "validation_error")
		assert.Len(t, faultsOf(got), 100, "only the first 100 faults are listed")
		assert.EqualValues(t, 150, got.body["details"].(object)["faultCount"])

		for what, in := range map[string]object{
			"templateId": with(bulkRequest(template, good), "templateId", newID().String()),
			"rows":       bulkRequest(template),
			"perMinute":  with(bulkRequest(template, good), "perMinute", 0),
			"tenantId":   without(bulkRequest(template, good), "tenantId"),
			"name":       with(bulkRequest(template, good), "name", strings.Repeat("x", 201)),
		} {
			if what == "rows" {
				in["rows"] = []object{}
			}
			rejected := c.post("/v1/bulk-sends", in).rejected(http.StatusBadRequest, "validation_error")
			assert.Contains(t, rejected.body["errors"], what)
		}
		others := bulkTemplate(t, s, c, "umbrella")
		c.post("/v1/bulk-sends", bulkRequest(others, good)).rejected(http.StatusBadRequest, "validation_error")
		_, err := s.store.ArchiveTemplate(t.Context(), s.app.ID, uuid.MustParse(others), func(*models.Template) error { return nil })
		require.NoError(t, err)
		c.post("/v1/bulk-sends", bulkRequest(others, good)).rejected(http.StatusBadRequest, "validation_error")
		over := make([]int, models.MaxBulkRows+1)
		c.post("/v1/bulk-sends", object{"templateId": template, "tenantId": "acme", "rows": over}).rejected(http.StatusBadRequest, "validation_error")
		for _, body := range []string{`[]`, `{"rows": [`, `{"rows": []} x`, `{"rows": 1}`, `{"rows": [], "rows": []}`, `{"dryRun": true, "dryRun": false}`, ``} {
			c.send(http.MethodPost, "/v1/bulk-sends", "application/json", []byte(body)).want(http.StatusBadRequest)
		}
		// A request with a misspelled dryRun is rejected, so it sends nothing.
		for _, name := range []string{"dryrun", "dry_run", "", strings.Repeat("ä", 5000)} {
			for _, r := range []*response{
				c.post("/v1/bulk-sends", with(bulkRequest(template, good), name, true)), c.post("/v1/bulk-sends?"+url.QueryEscape(name)+"=true", bulkRequest(template, good)),
			} {
				r.rejected(http.StatusBadRequest, "validation_error")
				assert.Contains(t, string(r.raw), "dryRun")
				assert.Less(t, len(r.raw), 1000)
			}
		}

		dry := c.post("/v1/bulk-sends", with(bulkRequest(template, good), "dryRun", true)).want(http.StatusOK)
		assert.JSONEq(t, `{"total": 1, "faults": []}`, string(dry.raw))
		unfinished, _, err := s.store.Unfinished(t.Context(), store.WorkBulkSends, uuid.Nil, 10)
		require.NoError(t, err)
		assert.Empty(t, unfinished, "no rejected bulk send must be stored")
	})
}

// TestBulkSend_ReservesEnvelopes checks that a bulk send of an app with a limited plan reserves envelopes, and that the
// usage includes them.
func TestBulkSend_ReservesEnvelopes(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	template := bulkTemplate(t, s, c, "acme")
	plan := models.PlanFree
	_, err := s.store.UpdateApp(t.Context(), s.app.ID, store.AppChange{Plan: &plan})
	require.NoError(t, err)
	made := c.post("/v1/bulk-sends", bulkRequest(template, bulkRow("a", "Ada"), bulkRow("b", "Bob"))).want(http.StatusAccepted)
	usage := func() []any {
		u := c.get("/v1/console/usage").want(http.StatusOK)
		return []any{u.body["envelopesUsed"], u.body["envelopesReserved"]}
	}
	assert.Equal(t, []any{0.0, 2.0}, usage())
	rows := make([]object, s.store.PlanLimits(plan).EnvelopesPerMonth)
	for i := range rows {
		rows[i] = bulkRow(fmt.Sprint(i), "Ada")
	}
	c.post("/v1/bulk-sends", bulkRequest(template, rows...)).rejected(http.StatusPaymentRequired, "plan_limit_reached")
	id := uuid.MustParse(made.str("id"))
	work, err := s.store.BulkWork(t.Context(), s.app.ID, id, 1, 1)
	require.NoError(t, err)
	require.NoError(t, s.store.FailBulkRow(t.Context(), s.app.ID, work.Rows[0], models.Reject(models.KindInvalid, "x", "y")))
	assert.Equal(t, []any{0.0, 1.0}, usage())
	c.post("/v1/bulk-sends", bulkRequest(template, rows[:len(rows)-1]...)).want(http.StatusAccepted)
	c.post("/v1/bulk-sends/"+id.String()+"/retry", nil).rejected(http.StatusPaymentRequired, "plan_limit_reached")
	c.post("/v1/bulk-sends/"+id.String()+"/cancel", nil).want(http.StatusOK)
	assert.Equal(t, []any{0.0, float64(len(rows) - 1)}, usage())
}

// TestBulkSend_FailedRowsCanBeRetried checks that failed rows report their errors and can be retried.
func TestBulkSend_FailedRowsCanBeRetried(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"bulk.completed"}}).want(http.StatusCreated)
		template := bulkTemplate(t, s, c, "acme")
		made := c.post("/v1/bulk-sends", bulkRequest(template, bulkRow("a", "Ada"), bulkRow("b", "Bob"))).want(http.StatusAccepted)
		at, id := "/v1/bulk-sends/"+made.str("id"), uuid.MustParse(made.str("id"))
		work, err := s.store.BulkWork(t.Context(), s.app.ID, id, 10, 10)
		require.NoError(t, err)
		of, err := s.store.Template(t.Context(), s.app.ID, work.TemplateID, work.TemplateVersion)
		require.NoError(t, err)
		e, err := work.Envelope(s.act(work.Actor), of, work.Rows[0], 10)
		require.NoError(t, err)
		require.NoError(t, s.store.SendBulkRow(t.Context(), work.Rows[0], e))
		require.NoError(t, s.store.FailBulkRow(t.Context(), s.app.ID, work.Rows[1], models.Reject(models.KindConflict, "external_id_taken", "=Another has it.")))
		done, err := s.store.FinishBulkSend(t.Context(), s.app.ID, id)
		require.NoError(t, err)
		require.True(t, done)
		got := c.get(at).want(http.StatusOK)
		assert.Equal(t, "completed", got.str("status"))
		assert.NotNil(t, got.body["completedAt"])
		rows := c.get(at + "/rows").want(http.StatusOK).body["data"].([]any)
		assert.Equal(t, []any{"sent", e.ID.String(), nil}, []any{rows[0].(object)["status"], rows[0].(object)["envelopeId"], rows[0].(object)["error"]})
		assert.Equal(t, object{"code": "external_id_taken", "message": "=Another has it."}, rows[1].(object)["error"])
		table := string(c.with("Accept", "text/csv").get(at + "/rows?status=failed").want(http.StatusOK).raw)
		assert.Contains(t, table, ",external_id_taken,'=Another has it.,")
		found := c.get("/v1/envelopes?tenantId=acme&bulkSendId=" + made.str("id")).want(http.StatusOK)
		assert.EqualValues(t, 1, found.body["total"])
		assert.Equal(t, e.ID.String(), found.body["data"].([]any)[0].(object)["id"])
		assert.EqualValues(t, 0, c.get("/v1/envelopes?tenantId=acme&bulkSendId=" + newID().String()).body["total"])
		delivery := c.get("/v1/console/webhook-deliveries?event=bulk.completed").want(http.StatusOK).body["data"].([]any)[0].(object)
		assert.Nil(t, delivery["envelopeId"])
		told := c.get("/v1/console/webhook-deliveries/" + delivery["id"].(string)).want(http.StatusOK).body["payload"].(object)
		assert.Equal(t, object{"bulkSendId": made.str("id"), "counts": object{"pending": 0.0, "sent": 1.0, "failed": 1.0, "cancelled": 0.0}}, told["data"])
		for _, verb := range []string{"pause", "resume", "cancel"} {
			c.post(at+"/"+verb, nil).rejected(http.StatusConflict, "bulk_send_completed")
		}
		assert.Equal(t, "running", c.post(at+"/retry", nil).want(http.StatusOK).str("status"))
		c.post(at+"/retry", nil).rejected(http.StatusConflict, "bulk_send_no_failed_rows")
	})
}

// TestBulkSend_Permissions checks that a sender can create a bulk send, and that a viewer can only read it.
func TestBulkSend_Permissions(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	template := bulkTemplate(t, s, c, "acme")
	in := bulkRequest(template, bulkRow("a", "Ada"))
	sender, support, viewer := s.signIn(t, models.RoleSender), s.signIn(t, models.RoleSupport), s.signIn(t, models.RoleViewer)
	made := sender.post("/v1/bulk-sends", in).want(http.StatusAccepted)
	at := "/v1/bulk-sends/" + made.str("id")
	for _, who := range []*client{support, viewer} {
		who.post("/v1/bulk-sends", in).rejected(http.StatusForbidden, "role_forbidden")
		for _, verb := range []string{"pause", "resume", "cancel", "retry"} {
			who.post(at+"/"+verb, nil).rejected(http.StatusForbidden, "role_forbidden")
		}
		who.get(at).want(http.StatusOK)
		who.get(at + "/rows").want(http.StatusOK)
	}
	sender.post(at+"/pause", nil).want(http.StatusOK)
}
