package faults_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// look requests the signing context, and returns the signers whose values the context contains.
func (e *envelope) look(i int) (response, error) {
	a, err := e.w.client.do(http.MethodGet, e.path(i, ""), "", nil)
	if err != nil || a.status != http.StatusOK {
		return response{code: a.status}, err
	}
	var view struct {
		Shown  string
		Filled []struct{ SignerID, Value string }
	}
	if err := json.Unmarshal(a.body, &view); err != nil {
		return response{}, err
	}
	out := response{code: a.status}
	for _, f := range view.Filled {
		n := slices.IndexFunc(e.signers, func(s signer) bool { return s.id == f.SignerID })
		if n < 0 || f.Value != "" && f.Value != value(f.SignerID) {
			return out, fmt.Errorf("signer %d was shown unexpected values: %+v", i, f)
		}
		out.shown[n] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shown == nil {
		e.shown = map[[signers]bool]string{}
	}
	if was, ok := e.shown[out.shown]; ok && was != view.Shown {
		return out, fmt.Errorf("the same values have different digests: %s and %s", was, view.Shown)
	}
	e.shown[out.shown] = view.Shown
	return out, nil
}

// agree signs, and declares that the values of the signers in shown were displayed. It sends the digest that the
// service returned for these signers. If shown is empty and there is no such digest, agree computes one.
func (e *envelope) agree(i int, shown [signers]bool) (answer, error) {
	e.mu.Lock()
	digest, ok := e.shown[shown]
	e.mu.Unlock()
	if !ok {
		if shown != [signers]bool{} {
			return answer{}, fmt.Errorf("no signer was shown the values %v", shown)
		}
		digest = displayedDigest(e.id, nil)
	}
	return e.act(fmt.Sprintf("sign %d", i), e.path(i, "/sign"), object{"fields": e.signers[i].fields, "shown": digest})
}

// displayedDigest computes the digest as documented, from the valuesSha256 of each signer.
func displayedDigest(envelope string, values map[string]string) string {
	list := []object{}
	for id, hash := range values {
		list = append(list, object{"signerId": id, "valuesSha256": hash})
	}
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(a["signerId"].(string), b["signerId"].(string)) })
	b, err := json.Marshal(object{"envelopeId": envelope, "signers": list})
	if err == nil {
		b, err = jcs.Transform(b)
	}
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// checkDisplayed checks that every signature is recorded with the digest of the values that were displayed to the
// signer. The digest may cover only signers who signed earlier, and must cover all of them if the signer's client sent
// it.
func checkDisplayed(t *testing.T, envelope string, events []models.Event) {
	t.Helper()
	before := map[string]string{}
	for _, ev := range events {
		if ev.Name != models.EventSignerSigned {
			continue
		}
		id, values := fmt.Sprint(ev.Detail["signerId"]), fmt.Sprint(ev.Detail["valuesSha256"])
		if ev.Detail["shown"] != nil {
			covered := map[string]string{}
			for s := range strings.SplitSeq(fmt.Sprint(ev.Detail["shownSigners"]), ",") {
				if s != "" {
					require.Contains(t, before, s, "%s was shown the values of a signer who signed later", id)
					covered[s] = before[s]
				}
			}
			assert.Equal(t, displayedDigest(envelope, covered), ev.Detail["shown"], "values shown to signer %s of %s", id, envelope)
			if ev.Detail["shownConfirmed"] == true {
				assert.Equal(t, before, covered, "signer %s of %s must have confirmed all current values", id, envelope)
			}
		}
		before[id] = values
	}
}
