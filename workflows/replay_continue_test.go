package workflows_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"countersign/models"
	"countersign/temporal"
	"countersign/test/kit"
)

// TestContinuedHistoriesReplay replays the histories of workflows that continued as new while signals arrived. It
// checks that no operator signal to a bulk send is lost between two runs.
func TestContinuedHistoriesReplay(t *testing.T) {
	t.Parallel()
	server := kit.TemporalWith(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=20")
	again := slices.Repeat([]string{temporal.SignalRescheduled}, 12)
	commands := slices.Repeat([]string{temporal.SignalPause, temporal.SignalChanged, temporal.SignalResume}, 12)
	bulk := &fakeBulk{status: models.BulkQueued, counts: models.BulkCounts{Pending: 400}, wait: 20 * time.Millisecond}
	for name, s := range map[string]*scenario{
		"continued-unsealed": {
			plan: planFor(1, 1), reads: true, continues: true, sealFails: 1 << 30, sealDelay: time.Hour,
			signals: slices.Concat(again, []string{"0", "1", temporal.SignalSealingFailed, temporal.SignalVoided}),
		},
		"continued-declined": {
			plan: planFor(1, 2), reads: true, continues: true,
			signals: slices.Concat(again, []string{"0", temporal.SignalSignerDeclined}),
		},
		"continued-bulk": {
			workflow: temporal.WorkflowBulk, input: temporal.BulkInput{AppID: uuid.New(), BulkSendID: uuid.New()}, bulk: bulk, continues: true,
			signals: append(commands, temporal.SignalCancel),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := s.playIn(t, kit.Namespace(t, server), name)
			first := s.first()
			require.Equal(t, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, first.Events[len(first.Events)-1].EventType)
			for suffix, env := range map[string]*historypb.History{"-first": first, "-last": last} {
				require.NoError(t, replayer().ReplayWorkflowHistory(quiet(t), env))
				if *record != "" {
					save(t, env, filepath.Join("testdata", "histories", *record, name+suffix+".json"))
				}
			}
			if s.bulk != nil {
				want := append(slices.Repeat([]models.BulkAction{models.BulkPause, models.BulkResume}, 12), models.BulkCancel)
				assert.ElementsMatch(t, want, bulk.commands, "each command takes effect once")
			}
		})
	}
}
