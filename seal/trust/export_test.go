package trust

// PinnedKey is how a list of trusted sealers names a key.
var PinnedKey = pinnedKey
