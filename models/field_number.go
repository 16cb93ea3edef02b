package models

import (
	"math/big"
	"regexp"
	"strings"
)

var number = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,10})?$`)

// parseNumber parses a decimal number with at most 15 digits before and 10 after the decimal point.
func parseNumber(text string) (*big.Rat, bool) {
	if !number.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

func decimals(text string) int {
	_, after, _ := strings.Cut(text, ".")
	return len(after)
}
