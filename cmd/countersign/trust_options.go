package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"countersign/config"
	"countersign/seal/trust"
)

// trustOptions specifies the authorities, sealers and keys to be trusted by a verification.
type trustOptions struct {
	Trust    []string `help:"PEM file with certificates of authorities. Every valid sealing certificate issued under one is trusted, and the verdict names its organization. For a public authority, add --sealer. May be repeated." sep:"none" placeholder:"FILE"`
	Sealer   []string `help:"Trusted sealer: a PEM file with the certificate or public key, or O= and the exact organization of a certificate under --trust. May be repeated." sep:"none" placeholder:"FILE|O=NAME"`
	TSATrust []string `help:"PEM file with certificates of time-stamp authorities. Without it, times are not confirmed. May be repeated." name:"tsa-trust" sep:"none" placeholder:"FILE"`
	Keys     []string `help:"File with the keys that sign records, such as /.well-known/jwks.json. Without it, the record is trusted if the seal is. May be repeated." sep:"none" placeholder:"FILE"`

	// names contains the names of the four options for use in errors. If it is nil, errors use the command-line names.
	names []string
}

func (o trustOptions) name(i int) string {
	if o.names != nil {
		return o.names[i]
	}
	return []string{"--trust", "--sealer", "--tsa-trust", "--keys"}[i]
}

// settingsTrust returns the trust policy specified in the settings. The policy does not include the certificates and
// keys of this installation.
func settingsTrust(cfg config.Config) (trust.Policy, error) {
	o := trustOptions{
		Trust: cfg.TrustCA, Sealer: cfg.TrustSealers, TSATrust: cfg.TrustTSA, Keys: cfg.TrustKeys,
		names: []string{config.Prefix + "TRUST_CA", config.Prefix + "TRUST_SEALERS", config.Prefix + "TRUST_TSA", config.Prefix + "TRUST_KEYS"},
	}
	return o.policy()
}

func (o trustOptions) policy() (trust.Policy, error) {
	var p trust.Policy
	authorities, err := readEach(o.Trust, o.name(0), trust.ParseAuthorities)
	if err != nil {
		return p, err
	}
	if p.Sealers, err = o.sealers(authorities); err != nil {
		return p, err
	}
	if p.Stampers, err = readPool(o.TSATrust, o.name(2)); err != nil {
		return p, err
	}
	_, err = readEach(o.Keys, o.name(3), func(b []byte) ([]trust.RecordKey, error) {
		keys, err := trust.ParseRecordKeys(b)
		if p.RecordKeys == nil {
			p.RecordKeys = make(map[string]trust.RecordKey)
		}
		maps.Copy(p.RecordKeys, keys)
		return nil, err
	})
	return p, err
}

// sealers returns the sealers specified by --sealer or, if the option is absent, all sealers with certificates from the
// authorities.
func (o trustOptions) sealers(authorities []*x509.Certificate) ([]trust.Sealer, error) {
	var out []trust.Sealer
	if len(o.Sealer) == 0 {
		for _, c := range authorities {
			out = append(out, trust.IssuedBy(c, ""))
		}
		return out, nil
	}
	var files []string
	for _, s := range o.Sealer {
		name, ok := trust.ParseOrganization(s)
		switch {
		case !ok:
			files = append(files, s)
		case name == "":
			return nil, fmt.Errorf("%s: %q must contain an organization", o.name(1), s)
		case len(authorities) == 0:
			return nil, fmt.Errorf("%s: %q requires %s with the authority of the organization", o.name(1), s, o.name(0))
		default:
			for _, c := range authorities {
				out = append(out, trust.IssuedBy(c, name))
			}
		}
	}
	pinned, err := readEach(files, o.name(1), trust.ParsePinned)
	return append(out, pinned...), err
}

// maxTrustFile is the maximum size of a file with certificates or keys, in bytes. For comparison, the system's list of
// authorities is about 220 KiB.
const maxTrustFile = 4 << 20

// readEach reads and parses all files given for an option.
func readEach[T any](files []string, option string, parse func([]byte) ([]T, error)) (all []T, err error) {
	for _, name := range files {
		var more []T
		b, err := readBounded(name)
		if err == nil {
			more, err = parse(b)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", option, name, err)
		}
		all = append(all, more...)
	}
	return all, nil
}

// readPool reads certificates of authorities. It returns nil if no files are given.
func readPool(files []string, option string) (*x509.CertPool, error) {
	roots, err := readEach(files, option, trust.ParseAuthorities)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range roots {
		pool.AddCert(c)
	}
	return pool, nil
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // specified by the operator
	if err != nil {
		if at, ok := errors.AsType[*os.PathError](err); ok {
			err = at.Err // the message already contains the name
		}
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	b, err := io.ReadAll(io.LimitReader(f, maxTrustFile+1))
	if err == nil && len(b) > maxTrustFile {
		err = fmt.Errorf("the file is larger than %d bytes", maxTrustFile)
	}
	return b, err
}
