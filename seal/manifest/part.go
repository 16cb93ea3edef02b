package manifest

import "fmt"

// Part is what part a signer plays. All of it is empty for who signs by themselves.
type Part struct {
	// Kind is approver, viewer or in_person.
	Kind string `json:"kind,omitempty"`
	// Host had the link and handed the device over.
	Host *Host `json:"host,omitempty"`
	// WitnessFor is the id of the signer whose signature the person witnessed.
	WitnessFor string `json:"witnessFor,omitempty"`
}

// Host is who handed an in-person signer the device.
type Host struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// checkPart compares the part that a signer plays with what the signature is recorded
// with. signed has the events of the signatures before it.
func (s *Signer) checkPart(signed map[string]event) error {
	ev, ok := signed[s.ID]
	if !ok {
		return nil
	}
	if s.Kind != ev.Detail.Kind || s.WitnessFor != ev.Detail.WitnessFor {
		return fmt.Errorf("which part signer %s plays", s.ID)
	}
	if s.WitnessFor == "" {
		return nil
	}
	if of, ok := signed[s.WitnessFor]; !ok || of.seq >= ev.seq {
		return fmt.Errorf("signer %s is a witness of nobody who had signed", s.ID)
	}
	return nil
}
