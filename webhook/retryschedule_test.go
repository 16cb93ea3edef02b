package webhook_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/webhook"
)

func TestParseSchedule(t *testing.T) {
	t.Parallel()
	cases := []struct {
		in   string
		want webhook.Schedule
	}{
		{"quickstart", webhook.Schedule{0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}},
		{"detailed", webhook.Schedule{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}},
		{"0s,1m,10m,1h,6h", webhook.Schedule{0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}},
		{" 0, 10ms ,20ms,1h30m,168h ", webhook.Schedule{0, 10 * time.Millisecond, 20 * time.Millisecond, 90 * time.Minute, 168 * time.Hour}},
	}
	for _, c := range cases {
		got, err := webhook.ParseSchedule(c.in)
		require.NoError(t, err, c.in)
		assert.Equal(t, c.want, got)
		again, err := webhook.ParseSchedule(got.String())
		require.NoError(t, err)
		assert.Equal(t, got, again)
		var read webhook.Schedule
		require.NoError(t, read.UnmarshalText([]byte(c.in)))
		assert.Equal(t, got, read)
	}
}

func TestParseScheduleErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"":                   "empty",
		"fast":               `"fast" is neither`,
		"1m,1m":              "must have 5 delays; got 2",
		"1,2,3,4,5,6":        "must have 5 delays; got 6",
		"0s,1m,ten,1h,6h":    `delay 3, "ten", is not a duration`,
		"0s,1m,10,1h,6h":     `delay 3, "10", is not a duration`,
		"0s,-1m,10m,1h,6h":   "delay 2, -1m0s, is not between",
		"0s,1m,10m,1h,169h":  "delay 5, 169h0m0s, is not between",
		"0s,1m,10m,1h,":      `delay 5, "", is not a duration`,
		"0s,1m,10m,1h,9999y": "delay 5",
	}
	for in, want := range cases {
		_, err := webhook.ParseSchedule(in)
		require.ErrorContains(t, err, want, in)
	}
}
