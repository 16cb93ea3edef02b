package limit

// Keys returns the keys for which l stores a state.
func Keys(l *Keyed) (keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.keys {
		keys = append(keys, key)
	}
	return keys
}
