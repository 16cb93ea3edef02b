package main

import (
	"context"
	"fmt"
	"time"

	"countersign/cli/terminal"
	"countersign/config"
	"countersign/models"
	"countersign/operate/rewrap"
	"countersign/seal/trust"
	"countersign/store"
	"countersign/store/blob"
)

type keyCommand struct {
	List   keyList   `cmd:"" help:"Show the keys that sign records and the sealing certificates, with their ids."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key as of a given time, which changes the verdicts on documents."`
	Rewrap keyRewrap `cmd:"" help:"Re-encrypt all data with the first master key, so that former master keys can be removed."`
	Rotate keyRotate `cmd:"" help:"Create a new signing key; earlier keys still verify. Running processes switch within a minute."`
}

type keyRotate struct {
	database

	Purpose string `arg:"" help:"tokens or records (also manifests, their former name)." enum:"tokens,records,manifests"`
}

func (k keyRotate) purpose() models.KeyPurpose {
	if k.Purpose == "records" {
		return models.KeyManifests
	}
	return models.KeyPurpose(k.Purpose)
}

// Run creates a new key.
func (k keyRotate) Run(ctx context.Context) error {
	return k.with(ctx, func(s *store.Store) error {
		id, err := s.RotateKey(ctx, k.purpose())
		if err != nil {
			return err
		}
		return terminal.Printf("%s is now the signing key; every process uses it within a minute", id)
	})
}

type keyRevoke struct {
	database

	ID     string     `arg:"" name:"kid" help:"Id of a record key or of a sealing certificate, as 'key list' shows it."`
	At     *time.Time `help:"Time of the revocation, such as 2026-11-22T10:00:00Z. Default: now." format:"2006-01-02T15:04:05Z07:00"`
	Reason string     `help:"Short reason, shown to everyone who verifies a document." required:""`
}

// Run records the revocation.
func (k keyRevoke) Run(ctx context.Context) error {
	return k.with(ctx, func(s *store.Store) error {
		at := now()
		if k.At != nil {
			at = *k.At
		}
		if err := s.RevokeKey(ctx, k.ID, at, k.Reason); err != nil {
			return err
		}
		return terminal.Printf("%s is revoked as of %s; documents remain valid only if a confirmed time-stamp proves that they were sealed before then",
			k.ID, at.UTC().Format(time.RFC3339))
	})
}

type keyList struct {
	database

	JSON bool `help:"Print JSON." name:"json"`
}

// keyView represents a key in the output of `key list`.
type keyView struct {
	ID      string     `json:"id"`
	Use     string     `json:"use"` // "record" or "seal"
	Name    string     `json:"name,omitempty"`
	Signs   bool       `json:"signs"` // whether it is the current record key
	Until   *time.Time `json:"notAfter,omitempty"`
	Revoked *time.Time `json:"revokedAt,omitempty"`
	Reason  string     `json:"reason,omitempty"`
}

// Run prints the keys.
func (k keyList) Run(ctx context.Context) error {
	return k.with(ctx, func(s *store.Store) error {
		keys, err := s.Keys(ctx, models.KeyManifests)
		if err != nil {
			return err
		}
		certificates, err := s.SealCertificates(ctx)
		if err != nil {
			return err
		}
		var views []keyView
		for _, key := range keys {
			v := keyView{ID: key.ID, Use: "record", Signs: !key.Retired}
			v.revoke(key.Revoked)
			views = append(views, v)
		}
		for _, c := range certificates {
			until := c.Certificate.NotAfter.UTC()
			v := keyView{ID: c.ID, Use: "seal", Name: trust.Name(c.Certificate), Until: &until}
			v.revoke(c.Revoked)
			views = append(views, v)
		}
		if k.JSON {
			return terminal.PrintJSON(views)
		}
		for _, v := range views {
			if err := terminal.Printf("%s", v); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *keyView) revoke(r *models.KeyRevocation) {
	if r != nil {
		at := r.At.UTC()
		v.Revoked, v.Reason = &at, r.Reason
	}
}

// String returns the output line for a key.
func (v keyView) String() string {
	line := fmt.Sprintf("%-6s  %s", v.Use, v.ID)
	if v.Name != "" {
		line += "  " + v.Name
	}
	if v.Until != nil {
		line += ", until " + v.Until.Format(time.DateOnly)
	}
	if v.Signs {
		line += "  current"
	}
	if v.Revoked != nil {
		line += fmt.Sprintf("  REVOKED as of %s: %s", v.Revoked.Format(time.RFC3339), trust.Printable(v.Reason))
	}
	return line
}

type keyRewrap struct{ database }

// Run re-encrypts data that was encrypted with former master keys, using the first key in COUNTERSIGN_MASTER_KEY. It
// also encrypts data that was stored before encryption was enabled. The command can be interrupted and repeated. The
// service may be running if it was started with both keys.
func (k keyRewrap) Run(ctx context.Context) error {
	return k.withFiles(ctx, func(s *store.Store, blobs *blob.Encrypted) error {
		n, err := rewrap.Rewrapper{Store: s, Blobs: blobs}.Run(ctx)
		if err != nil {
			return err
		}
		for _, row := range n.Unreadable {
			if err := terminal.Printf("not re-encrypted: %s: the data is damaged, or its key is missing from %sMASTER_KEY", row, config.Prefix); err != nil {
				return err
			}
		}
		if err := terminal.Printf("%d secrets, %d rows with contact data and %d of %d files were encrypted with the first key of %sMASTER_KEY",
			n.Secrets, n.Rows, n.Files, n.AllFiles, config.Prefix); err != nil {
			return err
		}
		if len(n.Unreadable) > 0 {
			return fmt.Errorf("%d rows were not re-encrypted: see above; keep the former keys until all rows are re-encrypted", len(n.Unreadable))
		}
		return nil
	})
}
