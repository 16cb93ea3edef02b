package models

// CanRestart refuses to restart the workflow of an envelope that has none: a draft, or an envelope that has ended.
func (e *Envelope) CanRestart() error {
	switch {
	case e.Status == StatusDraft:
		return Refuse(KindConflict, "envelope_draft", "The envelope has not been sent.")
	case e.Status.Terminal():
		return Refuse(KindConflict, "envelope_terminal", "The envelope is already %s.", e.Status.Public())
	}
	return nil
}
