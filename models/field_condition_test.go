package models_test

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"countersign/models"
)

type conditionCase struct {
	Name    string                  `json:"name"`
	Fields  []models.ConditionField `json:"fields"`
	Entered map[string]string       `json:"entered"`
	Earlier map[string]string       `json:"earlier"`
	Visible []string                `json:"visible"`
}

func conditionCases(t *testing.T) []conditionCase {
	t.Helper()
	text, err := os.ReadFile("testdata/conditions.json")
	require.NoError(t, err)
	var cases []conditionCase
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	return cases
}

func visibleIDs(fields []models.ConditionField, entered, earlier map[string]string) []string {
	shown := models.VisibleFields(fields, entered, earlier)
	out := []string{}
	for _, f := range fields {
		if shown[f.ID] {
			out = append(out, f.ID)
		}
	}
	return out
}

func TestVisibleFields(t *testing.T) {
	t.Parallel()
	for _, c := range conditionCases(t) {
		require.Equal(t, c.Visible, visibleIDs(c.Fields, c.Entered, c.Earlier), c.Name)
	}
}

// conditionSet is a set of fields and their values. The conditions refer only to earlier fields, so there are no
// cycles.
type conditionSet struct {
	fields  []models.ConditionField
	entered map[string]string
}

func drawConditions(t *rapid.T) conditionSet {
	s := conditionSet{entered: map[string]string{}}
	n := rapid.IntRange(1, 9).Draw(t, "fields")
	values := rapid.SampledFrom([]string{"", " ", "x", "true", "false"})
	for i := range n {
		f := models.ConditionField{ID: strconv.Itoa(i), Name: "f" + strconv.Itoa(i), Type: rapid.SampledFrom([]models.FieldType{models.FieldText, models.FieldCheckbox, models.FieldRadio}).Draw(t, "type")}
		if f.Type == models.FieldRadio {
			f.Group, f.Option = "g"+strconv.Itoa(i), "x"
		}
		if i > 0 && rapid.Bool().Draw(t, "conditional") {
			var clauses []models.Clause
			for range rapid.IntRange(1, 3).Draw(t, "clauses") {
				to := s.fields[rapid.IntRange(0, i-1).Draw(t, "to")]
				clause := models.Clause{Field: to.Name}
				if to.Type == models.FieldRadio {
					clause.Field = to.Group
				}
				value, filled := values.Draw(t, "compared"), rapid.Bool().Draw(t, "filled")
				switch rapid.IntRange(0, 2).Draw(t, "comparison") {
				case 0:
					clause.Is = &value
				case 1:
					clause.IsNot = &value
				default:
					clause.Filled = &filled
				}
				clauses = append(clauses, clause)
			}
			f.Condition = &models.Condition{All: clauses}
			if rapid.Bool().Draw(t, "any") {
				f.Condition = &models.Condition{Any: clauses}
			}
		}
		s.fields = append(s.fields, f)
		s.entered[f.ID] = values.Draw(t, "entered")
	}
	return s
}

// evaluate is a reference implementation for comparison. It evaluates the fields in order, because no field refers to a
// later one.
func (s conditionSet) evaluate() []string {
	values, shown := map[string]string{}, []string{}
	for _, f := range s.fields {
		met := f.Condition == nil
		if c := f.Condition; c != nil {
			holds := func(x models.Clause) bool {
				v := values[x.Field]
				filled := v != "" && v != "false"
				return x.Is != nil && v == *x.Is || x.IsNot != nil && v != *x.IsNot || x.Filled != nil && filled == *x.Filled
			}
			met = slices.ContainsFunc(c.Any, holds) || len(c.All) > 0 && !slices.ContainsFunc(c.All, func(x models.Clause) bool { return !holds(x) })
		}
		text := s.entered[f.ID]
		switch {
		case f.Type == models.FieldCheckbox:
			values[f.Name] = strconv.FormatBool(met && text == "true")
		case f.Type == models.FieldRadio:
			values[f.Group] = ""
			if met && text == "true" {
				values[f.Group] = f.Option
			}
		case met && text != " ":
			values[f.Name] = text
		}
		if met {
			shown = append(shown, f.ID)
		}
	}
	return shown
}

// TestVisibleFields_DoNotDependOnOrder checks that evaluating fields in any order has the same result as evaluating
// them from first to last.
func TestVisibleFields_DoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawConditions(t)
		for _, f := range s.fields { // a text field with the value "false" is filled, but evaluate treats it as a checkbox
			if f.Type == models.FieldText && s.entered[f.ID] == "false" {
				s.entered[f.ID] = "no"
			}
		}
		want := s.evaluate()
		require.Equal(t, want, visibleIDs(s.fields, s.entered, nil))
		backwards := slices.Clone(s.fields)
		slices.Reverse(backwards)
		got := visibleIDs(backwards, s.entered, nil)
		slices.Reverse(got)
		require.Equal(t, want, got)
	})
}
