package cms

// With these a message, a revocation list and an OCSP answer are brought into one form.
var (
	Normalize     = normalize
	NormalizeCRL  = normalizeCRL
	NormalizeOCSP = normalizeOCSP
)
