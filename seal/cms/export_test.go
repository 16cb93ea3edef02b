package cms

// Functions that normalize a message, a revocation list and an OCSP response.
var (
	Normalize     = normalize
	NormalizeCRL  = normalizeCRL
	NormalizeOCSP = normalizeOCSP
)
