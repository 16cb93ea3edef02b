package docuseal

import (
	"slices"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type comparison = struct {
	Field  string  `json:"field"`
	Filled *bool   `json:"filled,omitempty"`
	Is     *string `json:"is,omitempty"`
	IsNot  *string `json:"isNot,omitempty"`
}

// condition converts the conditions of a field. If they cannot be converted, it returns nil and adds a note. The field
// is then always displayed.
func (c *conversion) condition(f *Field) *api.Condition {
	clauses := make(api.Comparisons, 0, len(f.Conditions))
	ors := 0 // number of conditions joined to the previous one with "or"
	for i, condition := range f.Conditions {
		clause, ok := c.clause(condition)
		if i > 0 && condition.Operation == "or" {
			ors++
		}
		if !ok {
			c.note(f, "the conditions are not supported: the field is always shown, and optional")
			return nil
		}
		clauses = append(clauses, clause)
	}
	if ors > 0 && ors < len(clauses)-1 {
		c.note(f, "the conditions mix AND and OR: the field is always shown, and optional")
		return nil
	}
	if ors > 0 {
		return &api.Condition{Any: &clauses}
	}
	return &api.Condition{All: &clauses}
}

func (c *conversion) clause(condition Condition) (comparison, bool) {
	at := slices.IndexFunc(c.template.Fields, func(f Field) bool { return f.UUID == condition.Field })
	if at < 0 {
		return comparison{}, false
	}
	other := &c.template.Fields[at]
	out := comparison{Field: c.names[other.UUID]}
	value := text(condition.Value)
	if at := slices.IndexFunc(other.Options, func(o Option) bool { return o.UUID == value }); at >= 0 {
		value = other.Options[at].Value
	}
	box := other.Type == "checkbox"
	switch condition.Action {
	case "not_empty", "checked":
		if box {
			out.Is = countersign.Ptr("true")
		} else {
			out.Filled = countersign.Ptr(true)
		}
	case "empty", "unchecked":
		if box {
			out.IsNot = countersign.Ptr("true")
		} else {
			out.Filled = countersign.Ptr(false)
		}
	case "equal":
		out.Is = &value
	case "not_equal":
		out.IsNot = &value
	default:
		return out, false
	}
	_, known := types[other.Type]
	return out, known || other.Type == "radio"
}
