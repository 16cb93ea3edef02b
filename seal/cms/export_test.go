package cms

// Exports of unexported functions for tests.
var (
	Normalize     = normalize
	NormalizeCRL  = normalizeCRL
	NormalizeOCSP = normalizeOCSP
)
