package verify

// Recorded is what the service that sealed a document has on record of it.
type Recorded struct {
	OriginalSHA256 string
	SealedSHA256   string // of the file as the service keeps it now
	ChainHead      string // the hash of the event that the report's audit chain ends in
}

// CompareRecorded adds what the service's own record says of a document whose
// sealed revision is valid; nil if there is none. A record that says otherwise
// makes the document broken: what is sealed is then not what happened.
func (r *Report) CompareRecorded(rec *Recorded) {
	switch {
	case r.Verdict != VerdictValid && r.Verdict != VerdictAltered:
		return
	case rec == nil:
		r.add("recorded.unknown", nil)
	case rec.OriginalSHA256 != r.OriginalSHA256 || rec.ChainHead != r.ChainHead:
		r.add("recorded.other", nil)
	case rec.SealedSHA256 == r.SHA256:
		r.add("recorded.same", nil)
	default: // renewed since, or before
		r.add("recorded.earlier", nil)
	}
	r.conclude()
}
