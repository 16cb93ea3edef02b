package main

import (
	"slices"
	"testing"
	"time"
)

// TestBatches checks that a change is tried with the tests that reach it. The tests that have detected other changes
// in the same file come first, followed by the fastest ones within the budget, but there is always at least one test.
func TestBatches(t *testing.T) {
	t.Parallel()
	m := mutation{id: 7, pkg: "./store", file: "store/a.go"}
	tests := []exploredTest{
		{"TestQuick", time.Second, []int{7}},
		{"TestElsewhere", time.Second, []int{6, 8}},
		{"TestMiddling", 3 * time.Second, []int{1, 7}},
		{"TestSlow", 30 * time.Second, []int{7}},
		{"TestSlowest", 40 * time.Second, []int{7, 9}},
	}
	b := &bench{tests: map[string][]exploredTest{"./store": tests}, budget: 35 * time.Second, noticed: map[string]map[string]int{}}
	check := func(want ...[]string) {
		t.Helper()
		if got := b.batches("./store", m); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	check([]string{"TestQuick", "TestMiddling"}, []string{"TestSlow"})
	b.credit(mutation{file: "store/b.go"}, "./store", "TestSlowest") // not relevant for this file
	check([]string{"TestQuick", "TestMiddling"}, []string{"TestSlow"})
	b.credit(m, "./store", "TestSlowest")
	check([]string{"TestSlowest"})
}
