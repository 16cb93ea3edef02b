package store

import (
	"encoding/json"

	"gorm.io/gorm"
)

// labeled selects the rows that have a label; "" selects all.
func (s *engine) labeled(q *gorm.DB, label string) *gorm.DB {
	switch {
	case label == "":
		return q
	case s.postgres:
		list, _ := json.Marshal([]string{label}) // text is always marshaled
		return q.Where("labels IS NOT NULL AND labels @> ?::jsonb", string(list))
	}
	return q.Where("EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?)", label)
}
