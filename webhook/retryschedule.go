package webhook

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxDelay is the maximum delay before an attempt.
const maxDelay = 7 * 24 * time.Hour

// Schedule contains the delay before each of the five attempts.
type Schedule [5]time.Duration

// ParseSchedule parses "quickstart" (0s,1m,10m,1h,6h), "detailed" (30s,2m,10m,1h,6h), or five comma-separated delays of
// 0 to 7 days in Go's duration format.
func ParseSchedule(s string) (Schedule, error) {
	switch strings.TrimSpace(s) {
	case "quickstart":
		return Schedule{0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}, nil
	case "detailed":
		return Schedule{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}, nil
	case "":
		return Schedule{}, errors.New(`webhook schedule: empty; use "quickstart", "detailed" or five delays`)
	}
	parts := strings.Split(s, ",")
	var out Schedule
	if len(parts) == 1 {
		return out, fmt.Errorf(`webhook schedule: %.40q is neither "quickstart" nor "detailed" nor five delays`, s)
	}
	if len(parts) != len(out) {
		return out, fmt.Errorf("webhook schedule: must have %[2]d delays; got %[1]d", len(parts), len(out))
	}
	for i, part := range parts {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		switch {
		case err != nil:
			return Schedule{}, fmt.Errorf("webhook schedule: delay %d, %.40q, is not a duration such as 30s, 10m or 6h", i+1, part)
		case d < 0 || d > maxDelay:
			return Schedule{}, fmt.Errorf("webhook schedule: delay %d, %s, is not between 0 and %s", i+1, d, maxDelay)
		}
		out[i] = d
	}
	return out, nil
}

// String returns the delays in the format accepted by ParseSchedule.
func (s Schedule) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return strings.Join(parts, ",")
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Schedule) UnmarshalText(text []byte) error {
	parsed, err := ParseSchedule(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}
