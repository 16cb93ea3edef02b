package limit

// Keys returns the keys of which l keeps a state.
func Keys(l *Keyed) (keys []string) {
	for key := range l.keys {
		keys = append(keys, key)
	}
	return keys
}
