package models

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const (
	noSuchSigner = "names no signer of this envelope (use the signer's id, its zero-based index, or its e-mail address)"
	noSuchRole   = "is the role of no signer of this envelope"
)

// checkSigner notes if none of the signers of a request is the one that the field is for.
func (in FieldInput) checkSigner(p Problems, path string, signers []SignerInput) {
	if in.Role != "" {
		if !slices.ContainsFunc(signers, func(s SignerInput) bool { return s.Role == in.Role }) {
			p.addFirst(path+"role", noSuchRole)
		}
		return
	}
	emails := make([]string, 0, len(signers))
	for _, s := range signers {
		emails = append(emails, s.Email)
	}
	if signerIndex(in.SignerRef, emails) < 0 {
		p.addFirst(path+"signerId", noSuchSigner)
	}
}

// resolveSigner finds the signer of a role or, where that is "", the one that ref
// means; nil if there is none.
func (e *Envelope) resolveSigner(role, ref string) *Signer {
	if role != "" {
		if i := slices.IndexFunc(e.Signers, func(s *Signer) bool { return s.Role == role }); i >= 0 {
			return e.Signers[i]
		}
		return nil
	}
	if id, err := uuid.Parse(ref); err == nil {
		return e.Signer(id)
	}
	emails := make([]string, 0, len(e.Signers))
	for _, s := range e.Signers {
		emails = append(emails, s.Email)
	}
	if i := signerIndex(ref, emails); i >= 0 {
		return e.Signers[i]
	}
	return nil
}

// signerIndex is the index that ref gives, or that of the one signer who has
// that address; negative if there is none.
func signerIndex(ref string, emails []string) int {
	if i, err := strconv.Atoi(ref); err == nil {
		if i >= len(emails) {
			return -1
		}
		return i
	}
	found := -1
	for i, email := range emails {
		if strings.EqualFold(email, ref) {
			if found >= 0 {
				return -1 // two signers share the address: the reference is ambiguous
			}
			found = i
		}
	}
	return found
}
