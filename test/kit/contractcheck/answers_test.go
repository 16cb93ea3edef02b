package contractcheck_test

import (
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/test/kit/contractcheck"
)

const document = `
openapi: 3.1.0
info: {title: t, version: '1'}
paths:
  /things:
    get:
      operationId: listThings
      responses:
        '200':
          description: Things.
          headers:
            X-Total: {required: true, schema: {type: integer}}
            X-Next: {schema: {type: string, maxLength: 3}}
          content:
            application/json:
              schema:
                type: object
                required: [data]
                properties:
                  data: {type: array, items: {$ref: '#/components/schemas/Thing'}}
                  first: {$ref: '#/components/schemas/Thing'}
            application/pdf: {schema: {type: string}}
        '204': {description: None.}
components:
  schemas:
    Thing:
      type: object
      additionalProperties: false
      required: [id]
      properties:
        id: {type: string, format: uuid}
        at: {type: [string, 'null'], format: date-time}
        bytes: {type: string, format: byte}
        of: {$ref: '#/components/schemas/Thing'}
`

const id = "018f0000-0000-7000-8000-000000000000"

// TestAnswersThatDiffer checks that every kind of difference between a response and the contract is reported.
func TestAnswersThatDiffer(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(document))
	require.NoError(t, err)
	answers, err := contractcheck.NewAnswers(doc)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		status            int
		total, next, kind string
		body, problem     string
	}{
		"as promised":     {status: 200, total: "1", next: "abc", kind: "application/json; charset=utf-8", body: `{"data":[{"id":"` + id + `","at":null,"bytes":"QQ==","of":{"id":"` + id + `"}}]}`},
		"no body":         {status: 204, kind: ""},
		"a file":          {status: 200, total: "1", kind: "application/pdf", body: "%PDF-1.7\n\xff"},
		"status":          {status: 201, total: "1", kind: "application/json", body: `{"data":[]}`, problem: "status 201"},
		"header missing":  {status: 200, kind: "application/json", body: `{"data":[]}`, problem: "X-Total"},
		"header's type":   {status: 200, total: "many", kind: "application/json", body: `{"data":[]}`, problem: "X-Total"},
		"header's length": {status: 200, total: "1", next: "abcd", kind: "application/json", body: `{"data":[]}`, problem: "X-Next"},
		"content type":    {status: 200, total: "1", kind: "text/html", body: `{"data":[]}`, problem: "text/html"},
		"no JSON":         {status: 200, total: "1", kind: "application/json", body: `{"data":`, problem: "not valid JSON"},
		"member missing":  {status: 200, total: "1", kind: "application/json", body: `{}`, problem: "'data'"},
		"member unknown":  {status: 200, total: "1", kind: "application/json", body: `{"data":[{"id":"` + id + `","x":1}]}`, problem: "'x'"},
		"deep":            {status: 200, total: "1", kind: "application/json", body: `{"data":[{"id":"` + id + `","of":{"id":7}}]}`, problem: "/data/0/of/id"},
		"uuid":            {status: 200, total: "1", kind: "application/json", body: `{"data":[{"id":"x"}]}`, problem: "uuid"},
		"time":            {status: 200, total: "1", kind: "application/json", body: `{"data":[{"id":"` + id + `","at":"yesterday"}]}`, problem: "date-time"},
		"base64":          {status: 200, total: "1", kind: "application/json", body: `{"data":[{"id":"` + id + `","bytes":"?"}]}`, problem: "byte"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			for key, value := range map[string]string{"X-Total": c.total, "X-Next": c.next, "Content-Type": c.kind} {
				if value != "" {
					header.Set(key, value)
				}
			}
			err := answers.Validate(doc.Paths.Find("/things").Get, c.status, header, []byte(c.body))
			if c.problem == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.problem)
			}
		})
	}
}
