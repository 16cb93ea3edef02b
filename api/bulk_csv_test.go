package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/test/kit"
)

// TestBulkSend_FromCSV checks that CSV has the same result as JSON, and that errors identify the column.
func TestBulkSend_FromCSV(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	template := bulkTemplate(t, s, c, "acme")
	post := func(query, body string) *response {
		return c.send(http.MethodPost, "/v1/bulk-sends?templateId="+template+"&tenantId=acme"+query, "text/csv; charset=utf-8", []byte(body))
	}
	const head = "externalId,tenant.name,tenant.email,landlord.name,landlord.email,value.flat,variable.street\r\n"
	made := post("&perMinute=10&name=May", "\ufeff"+head+
		"a,Ada,ada@example.com,Lena,lena@example.com,7,\"High Street, \"\"old\"\"\"\r\n"+
		"b,Bob,bob@example.com,Lena,lena@example.com,,Low Street\r\n").want(http.StatusAccepted)
	assert.EqualValues(t, 2, made.body["total"])
	work, err := s.store.BulkWork(t.Context(), s.app.ID, uuid.MustParse(made.str("id")), 10, 10)
	require.NoError(t, err)
	of, err := s.store.Template(t.Context(), s.app.ID, uuid.MustParse(template), 1)
	require.NoError(t, err)
	e, err := work.Envelope(s.act(work.Actor), of, work.Rows[0], 10)
	require.NoError(t, err)
	assert.Equal(t, []any{`Lease of High Street, "old"`, "a", "Ada", "Lena", models.AuthEmailOTP, 2}, []any{
		*e.Subject, *e.ExternalID, e.Signers[0].Name, e.Signers[1].Name, e.Signers[1].AuthMethod, e.Signers[1].RoutingOrder,
	})
	assert.Equal(t, models.StatusSent, e.Status)
	assert.Equal(t, models.RecipientApprover, e.Signers[1].Kind, "as defined by the role")

	for what, c := range map[string]struct {
		body string
		want []string
	}{
		"cells":                      {head + "c,Ada,ada,Lena,lena@example.com,seven,\n,Ada,ada@example.com,Lena,lena@example.com,7,S\n", []string{"1 tenant.email: ", "1 value.flat: ", "1 variable.street: "}},
		"a column that is not known": {"tenant.name,tenant.age\nAda,7\n", []string{"0 tenant.age: is not recognized"}},
		"a column twice":             {"tenant.name,tenant.name\nAda,Ada\n", []string{"0 tenant.name: must not repeat"}},
		"too few cells":              {head + "c,Ada\n", []string{"1 : has 2 values for 7 columns"}},
		"one cell":                   {head + "c\n", []string{"1 : has 1 value for 7 columns"}},
		"one column":                 {"tenant.email\nada@example.com,Ada\n", []string{"1 : has 2 values for 1 column"}},
		"an empty row":               {head + "c,Ada,ada@example.com,L,l@example.com,7,S\n,,,,,,\n", []string{"2 : is empty"}},
		"a role that is not known":   {"cook.name,cook.email\nC,c@example.com\n", []string{"1 cook: is not a role"}},
	} {
		faults := strings.Join(faultsOf(post("", c.body).rejected(http.StatusBadRequest, "validation_error")), "\n")
		for _, want := range c.want {
			assert.Contains(t, faults, want, what)
		}
	}
	twice := faultsOf(post("", "tenant.age,tenant.age\n7,8\n").rejected(http.StatusBadRequest, "validation_error"))
	require.Contains(t, twice[0], "is not recognized")
	require.Equal(t, twice[0], twice[1], "the problem with each column, not the number of columns")
	for what, c := range map[string]struct{ body, want string }{
		"Latin-1":               {head + "c,Ren\xe9,r@example.com,L,l@example.com,7,S\n", "line 2 contains the byte 0xE9, so the encoding appears to be Windows-1252"},
		"UTF-16":                {"\xff\xfee\x00x\x00", "UTF-16 (little endian)"},
		"UTF-16, the other way": {"\xfe\xff\x00e\x00x", "UTF-16 (big endian)"},
		"a quote in the header": {"tenant.na\"me\nAda\n", "is not valid CSV: line 1"},
		"too many columns":      {strings.Repeat("a,", 5000) + "a\n", "has a header line with more than"},
		"a long header":         {strings.Repeat("x", 1<<20+8<<10) + "\n", "has a header line with more than"},
		"too many rows":         {"externalId\n" + strings.Repeat("x\n", models.MaxBulkRows+1), "must have at most 10000 items"},
		"zeros":                 {"\x00e\x00x", "UTF-16 without a byte order mark"},
		"semicolons":            {"tenant.name;tenant.email\nAda;a@example.com\n", "separated by commas"},
		"quotes":                {head + "c,\"Ada,ada@example.com,L,l@example.com,7,S\n", "a quoted value is not closed correctly"},
		"a quote":               {head + "c,A\"da,ada@example.com,L,l@example.com,7,S\n", "line 2, byte 4: a value without quotes contains a quote"},
		"no rows":               {head, "must have at least 1 item"},
		"CR alone":              {strings.ReplaceAll(head, "\n", "") + "c,Ada,ada@example.com,L,l@example.com,7,S\r", "lines that end with CR only"},
		"one fault":             {head + "c,Ada,ada,L,l@example.com,7,S\n", `"message":"row 1, tenant.email: must be an email address; nothing was sent"`},
		"two faults":            {"tenant.name,tenant.age\nAda\n", `"message":"column \"tenant.age\": is not recognized`},
		"of a row":              {head + "c,Ada\n", `"message":"row 1: has 2 values for 7 columns (and 1 more); nothing was sent"`},
		"nothing":               {"", "has no header line"},
		"a long row":            {head + strings.Repeat("x", 1<<20+8<<10) + "\n", `"rows[0]":["is larger than 1048576 bytes"]`},
	} {
		got := post("", c.body).rejected(http.StatusBadRequest, "validation_error")
		assert.Contains(t, string(got.raw), c.want, what)
	}
	for _, query := range []string{"&perMinute=x", "&perMinute=0", "&dryRun=yes", "&dryrun=true", "&dryRun=false&dryRun=true", "&templateVersion=2", "&templateVersion=0"} {
		post(query, head+"d,Ada,ada@example.com,Lena,lena@example.com,7,S\n").rejected(http.StatusBadRequest, "validation_error")
	}
	post("&dryRun=TRUE", "tenant.notify,"+head+"FALSE,d,Ada,ada@example.com,Lena,lena@example.com,7,S\n").want(http.StatusOK) // as written by spreadsheets
	dry := post("&dryRun=true", head+"d,Ada,ada@example.com,Lena,lena@example.com,7,S\n").want(http.StatusOK)
	assert.EqualValues(t, 1, dry.body["total"])
	c.send(http.MethodPost, "/v1/bulk-sends", "application/pdf", kit.OnePage()).rejected(http.StatusBadRequest, "content_type")
}
