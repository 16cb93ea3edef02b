package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestPlanLimits_ParseAndFormat checks the smallest and the largest accepted limits, and that parsing an invalid
// string changes nothing.
func TestPlanLimits_ParseAndFormat(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]models.PlanLimits{
		"documents=1,envelopes=1,overage=no":               {Documents: 1, EnvelopesPerMonth: 1},
		"documents=50,envelopes=1000000000,overage=yes":    {Documents: 50, EnvelopesPerMonth: 1_000_000_000, Overage: true},
		"documents=3,envelopes=unlimited,overage=no":       {Documents: 3},
		" overage=yes , documents=2 , envelopes=unlimited": {Documents: 2, Overage: true},
	} {
		var got models.PlanLimits
		require.NoError(t, got.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, got, text)
		var again models.PlanLimits
		require.NoError(t, again.UnmarshalText([]byte(got.String())), got.String())
		require.Equal(t, want, again, got.String())
	}
	for text, says := range map[string]string{
		"":                                    "must have the form",
		"documents=1,envelopes=5":             "must set documents, envelopes and overage",
		"documents=1,envelopes=5,overage=no,": "must have the form",
		"documents=1,documents=1,envelopes=5": "documents is set twice",
		"documents=1,envelopes=5,overage=no,overage=yes":  "overage is set twice",
		"documents=0,envelopes=5,overage=no":              "documents must be between 1 and 50",
		"documents=51,envelopes=5,overage=no":             "documents must be between 1 and 50",
		"documents=one,envelopes=5,overage=no":            "documents must be between 1 and 50",
		"documents=1,envelopes=0,overage=no":              "envelopes must be 1 or more, or unlimited",
		"documents=1,envelopes=1000000001,overage=no":     "envelopes must be 1 or more, or unlimited",
		"documents=1,envelopes=many,overage=no":           "envelopes must be 1 or more, or unlimited",
		"documents=1,envelopes=5,overage=maybe":           "overage must be yes or no",
		"documents=1,envelopes=5,overage":                 "overage must be yes or no",
		"documents=1,envelopes=5,overage=no,colour=green": "must have the form",
	} {
		got := models.PlanLimits{Documents: 7}
		require.ErrorContains(t, got.UnmarshalText([]byte(text)), says, text)
		require.Equal(t, models.PlanLimits{Documents: 7}, got, text)
	}
}

// TestPlans_HaveTheirOwnLimits checks that every plan has its own limits, and that an unknown plan permits nothing.
func TestPlans_HaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	plans := models.Plans{Free: models.PlanLimits{Documents: 1}, Pro: models.PlanLimits{Documents: 2}, Enterprise: models.PlanLimits{Documents: 3}}
	for plan, want := range map[models.Plan]int{models.PlanFree: 1, models.PlanPro: 2, models.PlanEnterprise: 3, "": 0, "gold": 0} {
		require.Equal(t, want, plans.Limits(plan).Documents, plan)
		require.Equal(t, want > 0, plan.Valid(), plan)
	}
	require.Equal(t, models.Plans{
		Free:       models.PlanLimits{Documents: 1, EnvelopesPerMonth: 5},
		Pro:        models.PlanLimits{Documents: 50, EnvelopesPerMonth: 100, Overage: true},
		Enterprise: models.PlanLimits{Documents: 50, Overage: true},
	}, models.DefaultPlans())
}

func TestPlanLimitsDocuments(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	_, err := e.AddDocument(act(start), page(), 1)
	assert.Equal(t, "plan_documents", code(t, err))
	_, err = e.AddDocument(act(start), page(), 2)
	require.NoError(t, err)
	assert.Equal(t, 2, e.Originals()[1].Order)
}
