package trust

// PinnedKey exports pinnedKey for tests.
var PinnedKey = pinnedKey
