package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

func TestNewEnvelope_LabelsBeyondLimits_AreRejected(t *testing.T) {
	t.Parallel()
	labels := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint("label ", i))
		}
		return out
	}
	for name, c := range map[string]struct {
		labels []string
		says   string
	}{
		"as many as accepted": {labels(models.MaxLabels), ""},
		"one more":            {labels(models.MaxLabels + 1), "must have at most 20 labels"},
		"as long as accepted": {[]string{strings.Repeat("ä", models.MaxLabelLength)}, ""},
		"longer":              {[]string{strings.Repeat("ä", models.MaxLabelLength+1)}, "50"},
		"empty":               {[]string{""}, "must not be empty"},
		"twice":               {[]string{"a", "b", "a"}, "contains a label twice"},
	} {
		_, err := models.NewEnvelope(act(start), models.Envelope{AppID: uuid.New(), TenantID: "t1", CreatedBy: "me", Labels: c.labels})
		if c.says == "" {
			require.NoError(t, err, name)
			continue
		}
		var rejected *models.Error
		require.ErrorAs(t, err, &rejected, name)
		require.Contains(t, strings.Join(rejected.Fields["labels"], " "), c.says, name)
	}
}
