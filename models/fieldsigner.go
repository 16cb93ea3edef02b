package models

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const (
	noSuchSigner = "names no signer of this envelope (use the signer's id, its zero-based index, or its e-mail address)"
	noFields     = "is a recipient who has no fields, as viewers and those who get copies"
	noSuchRole   = "is the role of no signer of this envelope"
)

// checkSigner notes if none of the signers of a request is the one that the field is for.
func (in FieldInput) checkSigner(p Problems, path string, signers []SignerInput) {
	if in.Role != "" {
		if i := slices.IndexFunc(signers, func(s SignerInput) bool { return s.Role == in.Role }); i < 0 {
			p.addFirst(path+"role", noSuchRole)
		} else if !signers[i].Kind.takesFields() {
			p.addFirst(path+"role", noFields)
		}
		return
	}
	emails := make([]string, 0, len(signers))
	for _, s := range signers {
		emails = append(emails, s.Email)
	}
	if i := signerIndex(in.SignerRef, emails); i < 0 {
		p.addFirst(path+"signerId", noSuchSigner)
	} else if !signers[i].Kind.takesFields() {
		p.addFirst(path+"signerId", noFields)
	}
}

// resolveSigner finds the signer of a role or, where that is "", the one that ref
// means; nil if there is none.
func (e *Envelope) resolveSigner(role, ref string) *Signer {
	all := e.Recipients()
	if role != "" {
		if i := slices.IndexFunc(all, func(s *Signer) bool { return s.Role == role }); i >= 0 {
			return all[i]
		}
		return nil
	}
	if id, err := uuid.Parse(ref); err == nil {
		return e.Recipient(id)
	}
	emails := make([]string, 0, len(all))
	for _, s := range all {
		emails = append(emails, s.Email)
	}
	if i := signerIndex(ref, emails); i >= 0 {
		return all[i]
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
