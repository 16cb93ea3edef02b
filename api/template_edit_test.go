package api_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTemplate_ConcurrentChanges checks that each of several concurrent changes either creates a version or is
// rejected, so that no change is lost.
func TestTemplate_ConcurrentChanges(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		at := "/v1/templates/" + c.template(leaseTemplate()).str("id")
		var wg sync.WaitGroup
		status := make([]int, 8)
		for i := range status {
			wg.Go(func() { status[i] = c.patch(at, object{"message": fmt.Sprint(i)}).status })
		}
		wg.Wait()
		done := 0
		for _, code := range status {
			require.Contains(t, []int{200, 409}, code)
			if code == 200 {
				done++
			}
		}
		require.NotZero(t, done)
		require.EqualValues(t, done+1, c.get(at).want(200).body["version"])
	})
}
