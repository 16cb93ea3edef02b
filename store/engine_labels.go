package store

import (
	"encoding/json"

	"gorm.io/gorm"
)

// labeled restricts a query to rows with a label. An empty label selects all rows.
func (s *engine) labeled(q *gorm.DB, label string) *gorm.DB {
	switch {
	case label == "":
		return q
	case s.postgres:
		list, _ := json.Marshal([]string{label}) // strings can always be marshaled
		return q.Where("labels IS NOT NULL AND labels @> ?::jsonb", string(list))
	}
	return q.Where("EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?)", label)
}
