package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// TestHistories_ContainNoPersonalData checks that an envelope's data in Temporal contains IDs and times, but no names,
// addresses, phone numbers, tokens, codes or text.
func TestHistories_ContainNoPersonalData(t *testing.T) {
	t.Parallel()
	tmp := kit.Temporal(t)
	s, _ := dev(t, t.TempDir(), "COUNTERSIGN_TEMPORAL_ADDRESS="+tmp.HostPort, "COUNTERSIGN_TEMPORAL_NAMESPACE="+tmp.Namespace)
	c := s.app(t)
	h := listenHook(t)
	c.subscribe(t, h.server.URL, hookSecret, api.WebhookEventNameEnvelopeCompleted)
	in := agreement("Ada Lovelace", "ada@example.com")
	in.Subject, in.Signers[0].AuthMethod, in.Signers[0].Phone = countersign.Ptr("Secret merger"), nil, countersign.Ptr("+4915123456789")
	_, err := c.Send(t.Context(), c.draft(t, in, kit.OnePage()).ID, "Between us")
	require.NoError(t, err)
	token := s.signingLink(t, "ada@example.com")
	s.sign(t, token, "ada@example.com")
	eventually(t, "webhook", func() bool { return h.count("envelope.completed") == 1 })

	tc, err := sdkclient.Dial(tmp)
	require.NoError(t, err)
	defer tc.Close()
	var list *workflowservice.ListWorkflowExecutionsResponse
	seen := map[string]bool{}
	eventually(t, "both workflows are listed", func() bool {
		list, err = tc.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
		for _, w := range list.GetExecutions() {
			seen[w.Type.Name] = true // may also include scheduled workflows
		}
		return err == nil && seen["Envelope"] && seen["Delivery"]
	})
	for _, w := range list.Executions {
		it := tc.GetWorkflowHistory(t.Context(), w.Execution.WorkflowId, w.Execution.RunId, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for it.HasNext() {
			ev, err := it.Next()
			require.NoError(t, err)
			b, err := json.Marshal(ev)
			require.NoError(t, err)
			text := string(b) + ev.String()
			for _, private := range []string{"Ada", "Lovelace", "example.com", "4915123456789", "Secret merger", "Between us", token, "Zoë", hookSecret, h.server.URL} {
				assert.NotContains(t, text, private, "%s event %d", w.Type.Name, ev.EventId)
			}
		}
	}
}
