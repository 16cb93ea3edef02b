package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestBulkRecipients checks that JSON rows and CSV rows describe recipients in the same way, and that faults identify
// the member or the column.
func TestBulkRecipients(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		template := inPersonTemplate(c)
		tenant := object{
			"role": "tenant", "name": "Ada", "email": "ada@example.com", "language": "de-AT", "notify": false, "allowDelegation": true, "kind": "in_person",
			"host": object{"name": "Hal", "email": "hal@example.com"},
		}
		row := func(tenant object) object {
			return object{"signers": []object{
				tenant, {"role": "landlord", "name": "Lena", "email": "lena@example.com"}, {"role": "witness", "name": "Will", "email": "will@example.com", "witnessFor": "tenant"},
			}}
		}
		const head = "tenant.name,tenant.email,tenant.language,tenant.notify,tenant.allowDelegation,tenant.hostName,tenant.hostEmail,landlord.name,landlord.email,witness.name,witness.email\n"
		table := func(tenant string) *response {
			return c.send(http.MethodPost, "/v1/bulk-sends?tenantId=acme&templateId="+template, "text/csv", []byte(head+tenant+",Lena,lena@example.com,Will,will@example.com\n"))
		}
		for what, accepted := range map[string]*response{
			"JSON": c.post("/v1/bulk-sends", bulkRequest(template, row(tenant))), "CSV": table("Ada,ada@example.com,de-AT,false,true,Hal,hal@example.com"),
		} {
			ada := s.envelopeOf(t, accepted).Signers[0]
			assert.Equal(t, []any{models.RecipientInPerson, "de-AT", true, true, &models.Host{Name: "Hal", Email: "hal@example.com"}},
				[]any{ada.Kind, ada.Language, ada.Silent, ada.AllowDelegation, ada.Host()}, what)
		}
		plain := s.envelopeOf(t, table("Ada,ada@example.com,,true,,Hal,hal@example.com")).Signers[0]
		assert.Equal(t, []any{"", false, false}, []any{plain.Language, plain.Silent, plain.AllowDelegation})

		with := func(name string, value any) object {
			out := object{}
			for k, v := range tenant {
				out[k] = v
			}
			out[name] = value
			return row(out)
		}
		got := c.post("/v1/bulk-sends", bulkRequest(template, with("host", nil), with("host", object{"name": "Hal", "email": "hal"}), with("host", "Hal"),
			with("language", "xx"), with("notify", "no"), with("kind", "viewer"), with("witnessFor", "landlord"))).rejected(http.StatusBadRequest, "validation_error")
		faults := strings.Join(faultsOf(got), "\n")
		for _, want := range []string{
			"1 signers[0].host: is required for kind in_person", "2 signers[0].host.email: ", "3 signers[0].host: ", "4 signers[0].language: must be a language tag",
			"5 signers[0].notify: ", "6 signers[0].kind: must be in_person, as in the role tenant", "7 signers[0].witnessFor: must match the role tenant",
		} {
			assert.Contains(t, faults, want)
		}
		for cells, want := range map[string]string{
			"Ada,ada@example.com,,,,,":                      "1 tenant.hostName: is required for kind in_person",
			"Ada,ada@example.com,,,,Hal,hal":                "1 tenant.hostEmail: ",
			"Ada,ada@example.com,,,,,hal@example.com":       "1 tenant.hostName: ",
			"Ada,ada@example.com,xx,,,Hal,hal@example.com":  "1 tenant.language: must be a language tag",
			"Ada,ada@example.com,,no,,Hal,hal@example.com":  "1 tenant.notify: ",
			"Ada,ada@example.com,,,yes,Hal,hal@example.com": "1 tenant.allowDelegation: ",
			"Ada,ada@example.com,,,,Ada,ada@example.com":    "1 tenant.hostEmail: must differ from the signer's email address",
		} {
			assert.Contains(t, strings.Join(faultsOf(table(cells).rejected(http.StatusBadRequest, "validation_error")), "\n"), want, cells)
		}
	})
}

// inPersonTemplate creates a template with an in-person signer and a witness.
func inPersonTemplate(c *client) string {
	data := leaseTemplate()
	data["subject"], data["message"] = "Lease", nil
	data["roles"] = []object{
		{"role": "tenant", "kind": "in_person", "authMethod": "none"},
		{"role": "landlord", "authMethod": "none", "routingOrder": 2},
		{"role": "witness", "authMethod": "none", "witnessFor": "tenant"},
	}
	return c.template(data).str("id")
}

// envelopeOf returns the envelope created from the first row of an accepted bulk send.
func (s *service) envelopeOf(t *testing.T, accepted *response) *models.Envelope {
	t.Helper()
	work, err := s.store.BulkWork(t.Context(), s.app.ID, uuid.MustParse(accepted.want(http.StatusAccepted).str("id")), 1, 1)
	require.NoError(t, err)
	of, err := s.store.Template(t.Context(), s.app.ID, work.TemplateID, work.TemplateVersion)
	require.NoError(t, err)
	e, err := work.Envelope(s.act(work.Actor), of, work.Rows[0], 10)
	require.NoError(t, err)
	return e
}
